import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { type ExecEnd, type KillReport, nothingKilled } from "../sandbox.ts";
import { type HeldFiles, nothingHeld } from "../thread/held-files.ts";
import type { Ending, Launched, LimitTier, ProgramInput, Spawner, SpawnRequest } from "../thread/spawner.ts";
import { launchEnvironment } from "./command-line.ts";
import type { FromSpawner, SpawnerSettings, ToSpawner } from "./spawner-messages.ts";

/** A spawner's process that has been started before it is known what it must know. */
export interface ForkedSpawner {
  /** @param log takes what an operator should know, one line at a time */
  prepare(settings: SpawnerSettings, log: (line: string) => void): Spawner;
  /** Ends it, where it is not to be prepared. */
  abandon(): void;
}

/** Starts the process, which takes as long as looking at the host: both can be done at the same time. */
export function forkSpawner(): ForkedSpawner {
  const child = forkProgram();
  // Another one is started when something is to be run, and that one is heard.
  child.on("error", () => {});
  const isAlive = () => child.connected && child.exitCode === null && child.signalCode === null;
  return {
    prepare: (settings, log) => createSpawner(settings, log, isAlive() ? child : undefined),
    abandon() {
      if (child.connected) child.disconnect();
    },
  };
}

function createSpawner(
  settings: SpawnerSettings,
  log: (line: string) => void,
  forked: ChildProcess | undefined,
): Spawner {
  let lastId = 0;
  let closed = false;
  let first = forked;
  let current: Connection | undefined;
  const connection = (): Connection => {
    if (current !== undefined) return current;
    const child = first ?? forkProgram();
    first = undefined;
    const made = connect(child, settings, log, () => ++lastId);
    void made.gone.then(() => {
      if (current === made) current = undefined;
    });
    return (current = made);
  };
  return {
    tier: () => connection().tier,
    launch: (folder, request) => (closed ? refused : connection().launch(folder, request)),
    confirm: (thread, confirmation) => {
      if (!closed) connection().confirm(thread, confirmation);
    },
    findHeld: async (folder) => (closed ? nothingHeld : connection().findHeld(folder)),
    proveDead: async (launches) => (launches.length > 0 ? connection().proveDead(launches) : nothingKilled),
    async close() {
      closed = true;
      await (first ? connection() : current)?.close();
    },
  };
}

const refused: Launched = {
  id: 0,
  ended: Promise.resolve({
    end: "failed",
    exitCode: null,
    problem: "Heddle is shutting down; nothing is started.",
  }),
  kill() {},
};

interface Connection extends Omit<Spawner, "tier"> {
  readonly tier: Promise<LimitTier>;
  /** Resolves when the process has ended. */
  readonly gone: Promise<void>;
}

const program = fileURLToPath(new URL("./spawner-process.ts", import.meta.url));
const endedUnexpectedly =
  "The process that runs the sandboxes ended unexpectedly, and everything in them with it";

function forkProgram(): ChildProcess {
  const { NODE_COMPILE_CACHE } = process.env;
  return fork(program, [], {
    cwd: "/",
    // Of Heddle's own variables only where Node keeps what it has compiled.
    env: { ...launchEnvironment, ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }) },
    // Not the bot's own flags; and Node 22 warns about running TypeScript.
    execArgv: ["--disable-warning=ExperimentalWarning"],
    // Ctrl-C in the bot's terminal is for the bot, which then ends its sandboxes itself.
    detached: true,
    stdio: ["ignore", "ignore", "inherit", "ipc"],
    serialization: "advanced",
  });
}

function waitForEnd(child: ChildProcess, log: (line: string) => void): Promise<void> {
  return new Promise((resolve) => {
    child.once("exit", () => resolve());
    child.on("error", (error) => {
      log(`the process that runs the sandboxes failed: ${error.message}`);
      if (child.pid === undefined) resolve();
    });
  });
}

function connect(
  child: ChildProcess,
  settings: SpawnerSettings,
  log: (line: string) => void,
  newId: () => number,
): Connection {
  const launches = new Map<number, { request: SpawnRequest; resolve(ending: Ending): void }>();
  const proofs = new Calls<KillReport>();
  const looks = new Calls<HeldFiles>();
  const tier = Promise.withResolvers<LimitTier>();
  let ready = false;

  function send(message: ToSpawner): void {
    // What cannot be sent any more is answered when the process is gone.
    child.send(message, () => {});
    stayForAnswers();
  }

  /** An idle spawner does not keep the bot from ending: it ends with it. */
  function stayForAnswers(): void {
    const idle = ready && launches.size + proofs.size + looks.size === 0;
    for (const handle of [child, child.channel]) {
      if (idle) handle?.unref();
      else handle?.ref();
    }
  }

  function receive(message: FromSpawner): void {
    switch (message.type) {
      case "ready":
        ready = true;
        tier.resolve(message.tier);
        break;
      case "output": {
        const { buffer, byteOffset, byteLength } = message.chunk;
        launches
          .get(message.id)
          ?.request.onOutput(message.stream, Buffer.from(buffer, byteOffset, byteLength));
        break;
      }
      case "ended":
        launches.get(message.id)?.resolve(message.ending);
        launches.delete(message.id);
        break;
      case "dead":
        proofs.answer(message.call, message.report);
        break;
      case "held":
        looks.answer(message.call, message.held);
        break;
      case "log":
        log(message.line);
        break;
    }
    stayForAnswers();
  }

  const gone = waitForEnd(child, log).then(() => {
    const error = new Error(`${endedUnexpectedly}.`);
    tier.reject(error);
    for (const calls of [proofs, looks]) calls.fail(error);
    for (const { resolve } of launches.values()) {
      resolve({ end: "failed", exitCode: null, problem: `${endedUnexpectedly}; try again.` });
    }
  });

  // Only that process has the other end of the channel.
  child.on("message", (message) => receive(message as FromSpawner));
  tier.promise.catch(() => {}); // Told to whoever asks.
  send({ type: "prepare", settings });

  return {
    tier: tier.promise,
    gone,
    launch(folder, request) {
      const { signal, joins, onOutput: _, ...sent } = request;
      const id = newId();
      const kill = (end: ExecEnd) => send({ type: "kill", id, end });
      if (signal?.aborted) return { id, ended: Promise.resolve({ end: "stopped", exitCode: null }), kill };
      const answer = Promise.withResolvers<Ending>();
      launches.set(id, { request, resolve: answer.resolve });
      send({ type: "launch", id, folder, request: sent, ...(joins && { joins: joins.id }) });
      const onAbort = () => kill("stopped");
      signal?.addEventListener("abort", onAbort);
      const ended = answer.promise.finally(() => signal?.removeEventListener("abort", onAbort));
      const input = request.stdin === "open" && createInput(child, id, () => launches.has(id));
      return { id, ended, kill, ...(input && { input }) };
    },
    confirm: (thread, confirmation) => send({ type: "confirm", thread, confirmation }),
    findHeld(folder) {
      const call = newId();
      const answer = looks.ask(call);
      send({ type: "find-held", call, folder });
      return answer;
    },
    proveDead(launched) {
      const call = newId();
      const answer = proofs.ask(call);
      send({ type: "prove-dead", call, ids: launched.map(({ id }) => id) });
      return answer;
    },
    async close() {
      child.ref();
      if (child.connected) child.disconnect();
      await gone;
    },
  };
}

/** The standard input of a launch that stays open. */
function createInput(child: ChildProcess, id: number, isRunning: () => boolean): ProgramInput {
  const send = (chunk?: Uint8Array) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const message: ToSpawner = { type: "input", id, ...(chunk && { chunk }) };
    child.send(message, (error) => (error ? reject(error) : resolve()));
    return promise;
  };
  return {
    write: (chunk) => (isRunning() ? send(chunk) : Promise.reject(new Error("It has ended."))),
    // Where nobody takes it any more, it has ended by itself.
    close: () => void send().catch(() => undefined),
  };
}

/** What the process was asked and has not answered yet. */
class Calls<Answer> {
  readonly #open = new Map<number, PromiseWithResolvers<Answer>>();

  get size(): number {
    return this.#open.size;
  }

  ask(call: number): Promise<Answer> {
    const asked = Promise.withResolvers<Answer>();
    this.#open.set(call, asked);
    return asked.promise;
  }

  answer(call: number, answer: Answer): void {
    this.#open.get(call)?.resolve(answer);
    this.#open.delete(call);
  }

  fail(error: Error): void {
    for (const { reject } of this.#open.values()) reject(error);
  }
}
