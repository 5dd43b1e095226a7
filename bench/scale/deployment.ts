import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Redis } from "ioredis";
import { changesChannel } from "../../src/adapters/console/conversations/conversations.ts";
import { parseChange, parseMessage } from "../../src/adapters/console/conversations/console-message.ts";
import { prefixOf } from "../../src/adapters/console/conversations/uploads.ts";
import { HeddleClient } from "../../src/client/index.ts";
import { modelEnvironment } from "../../tests/e2e/environment.ts";
import { newPlace, type Program } from "../../tests/e2e/program.ts";
import { type FakeReply, startFakeAnthropic } from "../../tests/fakes/anthropic.ts";
import { redisServers, type Server } from "../../tests/fakes/redis-servers.ts";
import { processorSeconds, readRedisCosts, type RedisCosts } from "./costs.ts";

/** A gateway, workers and Redis, each a process of its own; the model answers on the loopback interface. */
export interface Deployment extends AsyncDisposable {
  /** Starts a thread over the HTTP API; resolves with its answer's times once the answer is in the thread. */
  ask(text: string): Promise<Answered>;
  /** Answers that were put into threads so far, by thread. */
  answers: ReadonlyMap<string, number>;
  costs(): Promise<DeploymentCosts>;
}

export interface Answered {
  thread: string;
  /** From the request to the model's first request, and from its last reply to the answer in the thread, ms. */
  startMs: number;
  endMs: number;
}

export interface DeploymentCosts {
  gatewaySeconds: number;
  workerSeconds: number[];
  /** One for each primary. */
  redis: RedisCosts[];
}

/** When the model was first asked and when it last answered, by `performance.now()`. */
interface ModelTimes {
  asked: number;
  answered: number;
}

export interface DeploymentOptions {
  workers: number;
  slotsOfWorker: number;
  /** Three primaries that share the slots, instead of one server. */
  isCluster: boolean;
  reply: (said: string) => Promise<FakeReply>;
}

/** Longest wait for one answer, ms. */
const patienceMs = 120_000;

export async function openDeployment(options: DeploymentOptions): Promise<Deployment> {
  await using parts = new AsyncDisposableStack();
  const servers = await redisServers();
  parts.defer(() => servers.stop());
  const primaries: readonly Server[] = options.isCluster
    ? (await servers.cluster()).servers
    : [await servers.start({ appendonly: "yes", appendfsync: "everysec" })];
  const times = new Map<string, ModelTimes>();
  const model = await startFakeAnthropic({
    async replies({ messages }) {
      const name = /task-\d+/.exec(JSON.stringify(messages[0]?.content))?.[0] ?? "";
      const asked = times.get(name)?.asked ?? performance.now();
      const reply = await options.reply(JSON.stringify(messages.at(-1)?.content));
      times.set(name, { asked, answered: performance.now() });
      return reply;
    },
  });
  parts.defer(() => model.close());

  const place = await newPlace();
  parts.defer(() => place.clean());
  // So that sandbox users can reach the workspaces.
  await chmod(place.folder, 0o711);
  const settings = { queue: { concurrency: options.slotsOfWorker, perChannel: 5_000, perUser: 5_000 } };
  await writeFile(join(place.folder, "heddle.yaml"), JSON.stringify(settings));
  const [{ port }] = primaries as [Server];
  const environment = {
    REDIS_URL: `${options.isCluster ? "redis+cluster" : "redis"}://127.0.0.1:${port}`,
    ...modelEnvironment(model),
    HEDDLE_CONSOLE_OPEN: "1",
    HEDDLE_LOG_LEVEL: "warn",
    NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] ?? join(place.folder, "compile"),
  };
  const start = async (role: string): Promise<Program> => {
    const program = place.start(["start", "--role", role], environment);
    await program.line(/Heddle is ready/);
    return program;
  };
  const gateway = await start("gateway");
  const workers = await Promise.all(Array.from({ length: options.workers }, () => start("worker")));
  const url = /console +(\S+)/.exec(gateway.output())?.[1];
  if (url === undefined) throw new Error(`The gateway has no console:\n${gateway.output()}`);

  const client = new HeddleClient({ url });
  const watch = await watchAnswers(primaries, options.isCluster);
  parts.defer(() => watch[Symbol.asyncDispose]());
  const running = parts.move();

  return {
    answers: watch.answers,
    async ask(text) {
      const sent = performance.now();
      const { id: thread } = await client.start(text);
      const seen = await watch.next(thread);
      const of = times.get(/task-\d+/.exec(text)?.[0] ?? "");
      if (!of) throw new Error(`The model was never asked about "${text}".`);
      return { thread, startMs: of.asked - sent, endMs: seen - of.answered };
    },
    costs: async () => ({
      gatewaySeconds: processorSeconds(gateway.pid),
      workerSeconds: workers.map(({ pid }) => processorSeconds(pid)),
      redis: await Promise.all(primaries.map((server) => readRedisCosts(server.client))),
    }),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** Sees answers as the page does: each change is announced with its id, and read then. */
async function watchAnswers(primaries: readonly Server[], isCluster: boolean) {
  const ports = primaries.map(({ port }) => port);
  const [port = 0] = ports;
  const subscriber = new Redis(port, "127.0.0.1");
  const reader = isCluster
    ? new Redis.Cluster(ports.map((each) => ({ host: "127.0.0.1", port: each })))
    : new Redis(port, "127.0.0.1");
  const answers = new Map<string, Set<string>>();
  const counts = new Map<string, number>();
  const seenAt = new Map<string, number>();
  const waiting = new Map<string, (at: number) => void>();
  subscriber.on("message", (_channel, payload: string) => {
    const change = parseChange(payload);
    const message = change.ok ? change.value.message : undefined;
    // An answer that cannot be read is missed, and whoever waits for it says so.
    if (change.ok && message !== undefined) look(change.value.thread, message).catch(() => undefined);
  });
  const look = async (thread: string, id: string): Promise<void> => {
    const now = performance.now();
    const found = parseMessage((await reader.hget(`${prefixOf(thread)}messages`, id)) ?? "{}");
    if (!found.ok || found.value.kind !== "answer") return;
    const known = answers.get(thread) ?? new Set();
    answers.set(thread, known.add(id));
    counts.set(thread, known.size);
    seenAt.set(thread, seenAt.get(thread) ?? now);
    waiting.get(thread)?.(now);
  };
  await subscriber.subscribe(changesChannel);
  return {
    answers: counts,
    async next(thread: string): Promise<number> {
      const seen = seenAt.get(thread);
      if (seen !== undefined) return seen;
      const { promise, resolve, reject } = Promise.withResolvers<number>();
      const late = () => reject(new Error(`${thread} has no answer after ${patienceMs} ms.`));
      const timer = setTimeout(late, patienceMs);
      waiting.set(thread, resolve);
      try {
        return await promise;
      } finally {
        clearTimeout(timer);
        waiting.delete(thread);
      }
    },
    [Symbol.asyncDispose]: async () => {
      subscriber.disconnect();
      reader.disconnect();
    },
  };
}
