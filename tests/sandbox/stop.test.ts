import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeSync,
} from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { killLaunches } from "../../src/sandbox/bubblewrap/kill.ts";
import type { Launch } from "../../src/sandbox/bubblewrap/launch.ts";
import { processesWith } from "../e2e/processes.ts";
import {
  dataFolder,
  firstOutput,
  openTwoThreads,
  output,
  python,
  type TwoThreads,
  uniqueSeconds,
  withoutFirstThread,
} from "./two-threads.ts";

const dataDir = dataFolder();
let threads: TwoThreads;
beforeAll(async () => {
  threads = await openTwoThreads(dataDir);
});
afterAll(async () => {
  await threads.backend.close();
  rmSync(dataDir, { recursive: true });
});

/** Six daemons and bash, which waits for them; a word when all are there. */
const daemons = (seconds: string) =>
  `for i in 1 2 3 4 5 6; do setsid sleep ${seconds} & done; echo running; wait`;

/** Starts a command and resolves with its result's promise when it has written something. */
async function startedExec(command: string, signal?: AbortSignal) {
  const running = Promise.withResolvers<void>();
  const result = threads.sandbox.exec({
    command,
    ...(signal && { signal }),
    onOutput: () => running.resolve(),
  });
  await running.promise;
  return { result };
}

describe("killAll", () => {
  test("ends commands and jobs of the thread, tells how many processes it found, and that none is left", async () => {
    const seconds = uniqueSeconds();
    const { result } = await startedExec(daemons(seconds));
    const started = await threads.sandbox.start({ command: daemons(seconds) });
    if (!started.ok) throw new Error(started.message);
    await firstOutput(started.job);

    const report = await threads.sandbox.killAll();

    expect(report).toMatchObject({ commands: 2, processes: 14, survivors: 0 });
    expect(processesWith(seconds)).toEqual([]);
    expect(await result).toMatchObject({ end: "stopped", exitCode: null, stdout: Buffer.from("running\n") });
    expect(await started.job.wait()).toMatchObject({ state: "ended", end: "stopped", exitCode: null });
  });

  test.skipIf(!existsSync("/usr/bin/python3"))("counts a process whose first thread has ended", async () => {
    const { result } = await startedExec(
      python(withoutFirstThread(`print("running", flush=True); time.sleep(60)`)),
    );
    // Bash, and what it waits for.
    expect(await threads.sandbox.killAll()).toMatchObject({ commands: 1, processes: 2, survivors: 0 });
    expect(await result).toMatchObject({ end: "stopped" });
  });

  test("has no flood of output before it that was written while the bot stood still", async () => {
    const { result } = await startedExec("head -c 60000000 /dev/zero; sleep 300");
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000);
    await threads.sandbox.killAll();
    const { end, stdout, droppedBytes } = await result;
    expect(end).toBe("stopped");
    expect(stdout.length + droppedBytes).toBeLessThan(16 * 1_048_576);
  });

  test("leaves other threads alone, and the thread usable", async () => {
    const started = await threads.other.start({ command: `sleep ${uniqueSeconds()}` });
    if (!started.ok) throw new Error(started.message);
    await startedExec(daemons(uniqueSeconds()));
    await threads.sandbox.killAll();
    expect(started.job.status()).toEqual({ state: "running" });
    expect(await started.job.kill()).toMatchObject({ commands: 1, survivors: 0 });
    expect(await output(threads.sandbox, "echo usable")).toBe("usable");
  });

  test("finds nothing in an idle thread", async () => {
    expect(await threads.sandbox.killAll()).toMatchObject({ commands: 0, processes: 0, survivors: 0 });
  });

  test("counts no file operation, and ends it all the same", async () => {
    const name = `large-${uniqueSeconds()}`;
    await output(threads.sandbox, `truncate -s 200M ${name}`);
    const written = threads.sandbox.writeFile(name, Buffer.from("x"), { ifSha256: "another" });
    // Or it is over before anybody could look.
    const seen = vi.waitFor(() => expect(processesWith(name)).not.toEqual([]), {
      timeout: 60_000,
      interval: 1,
    });
    await Promise.race([seen.catch(() => {}), written]);
    expect(await threads.sandbox.killAll()).toMatchObject({ commands: 0, processes: 0, survivors: 0 });
    expect(processesWith(name)).toEqual([]);
    expect((await written).ok).toBe(false);
    await output(threads.sandbox, `rm ${name}`);
  });

  test("counts no look at the files that nobody has called for, and ends it all the same", async () => {
    const seconds = uniqueSeconds();
    const looked = threads.sandbox.exec({ command: `sleep ${seconds}`, isUncalled: true });
    expect(await threads.sandbox.killAll()).toMatchObject({ commands: 0, processes: 0, survivors: 0 });
    expect(processesWith(seconds)).toEqual([]);
    expect(await looked).toMatchObject({ end: "stopped" });
  });

  test("reaches commands that are only just being started", async () => {
    const seconds = uniqueSeconds();
    const results = Array.from({ length: 8 }, () => threads.sandbox.exec({ command: `sleep ${seconds}` }));
    expect(await threads.sandbox.killAll()).toMatchObject({ commands: 8, survivors: 0 });
    expect(processesWith(seconds)).toEqual([]);
    expect((await Promise.all(results)).map(({ end }) => end)).toEqual(Array(8).fill("stopped"));
  });

  test("stops file operations too", async () => {
    const writing = threads.sandbox.writeFile("big", Buffer.alloc(1024 * 1024));
    await threads.sandbox.killAll();
    expect(await writing).toMatchObject({ ok: false, reason: "failed" });
  });
});

/** Has that process, which waits for a child, tell by its event counter that its program has ended, and stay. For x86-64. */
function tellAnEnd(pid: number): void {
  const counter = readdirSync(`/proc/${pid}/fd`).find((name) =>
    readlinkSync(`/proc/${pid}/fd/${name}`).includes("eventfd"),
  );
  // prctl(PR_SET_PDEATHSIG, 0); write(counter, &1, 8); for (;;) pause();
  const code = [
    ...["b89d000000", "bf01000000", "31f6", "0f05"],
    ...["6a01", "4889e6", "b801000000", `bf${Number(counter).toString(16).padStart(2, "0")}000000`],
    ...["ba08000000", "0f05", "b822000000", "0f05", "ebf7"],
  ];
  const place = Number(readFileSync(`/proc/${pid}/syscall`, "utf8").trim().split(" ").at(-1));
  const memory = openSync(`/proc/${pid}/mem`, "r+");
  writeSync(memory, Buffer.from(code.join(""), "hex"), 0, null, place);
  closeSync(memory);
}

const mayWriteMemory = process.getuid?.() === 0 && process.arch === "x64";
test.skipIf(!mayWriteMemory)("a first process that tells an end and stays is ended", async () => {
  const seconds = uniqueSeconds();
  // What ends without a parent wakes it.
  const { result } = await startedExec(
    `(sleep 0.5 &); echo running; exec >/dev/null 2>&1; sleep ${seconds}; true`,
  );
  const first = processesWith(seconds).find((pid) =>
    /^NSpid:.*\t1$/m.test(readFileSync(`/proc/${pid}/status`, "utf8")),
  );
  if (first === undefined) throw new Error("There is no first process.");
  tellAnEnd(first);
  expect(await result).toMatchObject({ end: "exit", exitCode: 0 });
  expect(processesWith(seconds)).toEqual([]);
});

test("a namespace that got the number of an ended one is no survivor of that", async () => {
  const namespace = readlinkSync("/proc/self/ns/pid");
  const ended: Launch = {
    ended: Promise.resolve({ end: "stopped", exitCode: null }),
    kill() {},
    feed() {},
    holdOutput() {},
    processes: () => [],
    init: () => undefined,
  };
  expect(await killLaunches([ended])).toMatchObject({ commands: 1, survivors: 0 });
  const lasting = { ...ended, init: () => ({ pid: process.pid, startTime: 0, namespace }) };
  expect((await killLaunches([lasting])).survivors).toBeGreaterThan(0);
});

test("a command that ends while the bot stands still for long loses nothing of its output", async () => {
  // More than is on its way to a bot that takes nothing, and no more than fits into the pipe beside it.
  const { result } = await startedExec("head -c 1200000 /dev/zero; echo end");
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 6_500);
  const { exitCode, stdout } = await result;
  expect({ exitCode, bytes: stdout.length }).toEqual({ exitCode: 0, bytes: 1_200_004 });
});

describe("an aborted signal", () => {
  test("ends the command, whose result comes only when its processes are dead", async () => {
    const seconds = uniqueSeconds();
    const stop = new AbortController();
    const { result } = await startedExec(daemons(seconds), stop.signal);
    expect(processesWith(seconds).length).toBeGreaterThan(5);
    stop.abort();
    expect(await result).toMatchObject({ end: "stopped", exitCode: null });
    expect(processesWith(seconds)).toEqual([]);
  });

  test("keeps a command from starting when it was aborted before", async () => {
    const { end } = await threads.sandbox.exec({ command: "touch ran", signal: AbortSignal.abort() });
    expect(end).toBe("stopped");
    expect(await output(threads.sandbox, "ls ran")).toMatch(/No such file/);
  });

  test("ends the command at whatever moment of its start it comes", async () => {
    const seconds = uniqueSeconds();
    for (let turns = 0; turns < 40; turns += 4) {
      const stop = new AbortController();
      const result = threads.sandbox.exec({ command: `sleep ${seconds}`, signal: stop.signal });
      for (let turn = 0; turn < turns; turn += 1) await new Promise(setImmediate);
      stop.abort();
      expect((await result).end).toBe("stopped");
      expect(processesWith(seconds)).toEqual([]);
    }
  });
});

describe("a bot that is killed", () => {
  const program = fileURLToPath(new URL("./killed-bot.ts", import.meta.url));

  async function startKilledBot(): Promise<ChildProcess> {
    const bot = fork(program, [dataDir], { execArgv: [], stdio: ["ignore", "inherit", "inherit", "ipc"] });
    await once(bot, "message");
    return bot;
  }

  async function kill(bot: ChildProcess): Promise<void> {
    const exited = once(bot, "exit");
    bot.kill("SIGKILL");
    await exited;
  }

  const nothingIsLeft = (seconds: string) =>
    vi.waitFor(() => expect(processesWith(seconds)).toEqual([]), { timeout: 60_000, interval: 10 });

  test("leaves no process of its sandboxes", async () => {
    const seconds = uniqueSeconds();
    const bot = await startKilledBot();
    bot.send(daemons(seconds));
    await once(bot, "message"); // "started"
    await once(bot, "message"); // "output"
    expect(processesWith(seconds).length).toBeGreaterThan(5);
    await kill(bot);
    await nothingIsLeft(seconds);
  });

  test("leaves none either while it starts them", async () => {
    for (const commands of [1, 3, 6]) {
      const seconds = uniqueSeconds();
      const bot = await startKilledBot();
      for (let sent = 0; sent < commands; sent += 1) bot.send(`sleep ${seconds}`);
      await once(bot, "message");
      await kill(bot);
      await nothingIsLeft(seconds);
    }
  });
});

test("when the process that runs the sandboxes dies, commands fail, nothing is left, and the next command runs", async () => {
  const seconds = uniqueSeconds();
  const { result } = await startedExec(daemons(seconds));
  const [spawner] = processesWith("spawner-process.ts").filter((pid) => parentOf(pid) === process.pid);
  if (spawner === undefined) throw new Error("no spawner found");
  process.kill(spawner, "SIGKILL");
  expect(await result).toMatchObject({
    end: "failed",
    problem: expect.stringContaining("ended unexpectedly"),
  });
  await vi.waitFor(() => expect(processesWith(seconds)).toEqual([]), { timeout: 60_000, interval: 10 });
  expect(await output(threads.sandbox, "echo again")).toBe("again");
});

function parentOf(pid: number): number {
  return Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
}
