import { existsSync, rmSync } from "node:fs";
import { afterEach, describe, expect, test } from "vitest";
import { createSandboxTools } from "../../src/agent/tools/built-in.ts";
import { readSandboxLimits } from "../../src/app/sandbox.ts";
import { settingsSchema } from "../../src/config/schema.ts";
import { createBubblewrapBackend } from "../../src/sandbox/bubblewrap/backend.ts";
import { defaultLimits, type SandboxLimits } from "../../src/sandbox/limits.ts";
import type { SandboxBackend } from "../../src/sandbox/sandbox.ts";
import { dispatcherOf, memoryNotes, run } from "../agent/tools/services.ts";
import { dataFolder, firstOutput, output, python } from "./two-threads.ts";

const mebibyte = 1024 * 1024;
let dataDir = "";
let backend: SandboxBackend | undefined;
afterEach(async () => {
  await backend?.close();
  backend = undefined;
  rmSync(dataDir, { recursive: true, force: true });
});

function limitedTo(limits: Partial<SandboxLimits>, requiresGroups = false): SandboxBackend {
  dataDir = dataFolder();
  return (backend = createBubblewrapBackend({ dataDir, limits, requiresGroups }));
}

describe("What ended a command is told in words:", () => {
  test.each<[string, Partial<SandboxLimits>, string, RegExp]>([
    ["its time", { commandMs: 400 }, "sleep 60", /^TIMEOUT: ended after \d+ s with all its processes/],
    [
      "its memory",
      { memoryBytes: 100 * mebibyte },
      "head -c 300M /dev/zero | tail -c 300M | sleep 20",
      /they used more memory than this thread has/,
    ],
    ["its output", { outputBytes: 10_000 }, "yes", /far too much output/],
    [
      "the disk",
      { workspaceBytes: 2 * mebibyte, freeBytes: 0 },
      "while :; do i=$((i + 1)); head -c 1000000 /dev/zero >f-$i; sleep 0.2; done",
      /disk space is used up/,
    ],
  ])("%s", async (_what, limits, command, words) => {
    const sandbox = await limitedTo(limits).open("a:b:c:d");
    const services = { sandbox, notes: memoryNotes(), now: Date.now };
    const dispatcher = dispatcherOf({ tools: createSandboxTools(), services });
    const { status, text } = await run(dispatcher, "bash", { command });
    expect([status, text]).toEqual(["partial", expect.stringMatching(words)]);
  });
});

test("a command that asks for more time than the operator gives gets no more", async () => {
  const sandbox = await limitedTo({ longestCommandMs: 300 }).open("a:b:c:d");
  expect(await sandbox.exec({ command: "sleep 60", timeoutMs: 50_000 })).toMatchObject({ end: "timeout" });
});

test("a background job ends with its time", async () => {
  const sandbox = await limitedTo({ jobMs: 300 }).open("a:b:c:d");
  const started = await sandbox.start({ command: "sleep 60" });
  if (!started.ok) throw new Error(started.message);
  expect(await started.job.wait()).toMatchObject({ end: "timeout" });
});

test("a command has no more than its share of the CPUs, where a control group can hold it", async (context) => {
  const limited = limitedTo({ cpus: 0.25 });
  const { summary } = await limited.probe();
  context.skip(summary.includes("tier 3"), "no writable control group on this host");
  const sandbox = await limited.open("a:b:c:d");
  const spin = "timeout 1 bash -c 'while :; do :; done'";
  const script = `start=$(date +%s%N); ${spin} & ${spin}; wait; echo $(($(date +%s%N) - start)); times`;
  const said = await output(sandbox, script);
  const used = [...said.matchAll(/(\d+)m([\d.]+)s/g)];
  const seconds = used.reduce((sum, [, minutes, rest]) => sum + 60 * Number(minutes) + Number(rest), 0);
  expect(seconds).toBeGreaterThan(0.1);
  // Of the time that really passed: a busy machine ends the two late. Without a limit they would have up to 2.
  expect(seconds / (Number.parseInt(said, 10) / 1e9)).toBeLessThan(0.5);
});

test("a host without control groups is refused where the operator requires them, and only there", async () => {
  const { ok, summary, problems } = await limitedTo({}, true).probe();
  expect(ok).toBe(!summary.includes("tier 3"));
  if (!ok) expect(problems[0]?.what).toMatch(/sandbox\.require .* asks for a control group/);
});

test("every limit can be set in heddle.yaml, and its default there is the sandbox's own", () => {
  expect(readSandboxLimits(settingsSchema.parse({}).sandbox)).toEqual(defaultLimits);
  const { sandbox } = settingsSchema.parse({ sandbox: { jobMinutes: 1, freeMb: 3, workspaceFiles: 500 } });
  expect(readSandboxLimits(sandbox)).toMatchObject({
    jobMs: 60_000,
    freeBytes: 3 * mebibyte,
    workspaceInodes: 500,
  });
});

test("what the kernel counts by user, no thread of a root bot can use up for another", async (context) => {
  context.skip(
    process.getuid?.() !== 0,
    "the threads of other bots share its user; docs/security.md says so",
  );
  context.skip(!existsSync("/usr/bin/python3"), "/usr/bin/python3 is not installed");
  const opened = limitedTo({});
  const [greedy, other] = await Promise.all([opened.open("a:b:c:greedy"), opened.open("a:b:c:other")]);
  const tools = "import ctypes, fcntl, os, time\nlibc = ctypes.CDLL(None)";
  const started = await greedy.start({
    command: python(`${tools}
watches = 0
while watches < 2000 and libc.inotify_init1(0) >= 0: watches += 1
try:
    for _ in range(100): fcntl.fcntl(os.pipe()[1], fcntl.F_SETPIPE_SZ, 1 << 20)
except OSError: pass
print("ready", flush=True)
time.sleep(60)`),
  });
  if (!started.ok) throw new Error(started.message);
  expect(await firstOutput(started.job)).toContain("ready");
  const look = `${tools}
print(libc.inotify_init1(0) >= 0, fcntl.fcntl(os.pipe()[1], fcntl.F_GETPIPE_SZ))`;
  expect(await output(other, python(look))).toBe("True 65536");
});

test("totals follow from the limits of a command, unless they are set", () => {
  const totalsOf = (sandbox: Record<string, number>) =>
    readSandboxLimits(settingsSchema.parse({ sandbox }).sandbox);
  expect(totalsOf({ memoryMb: 100, processes: 50 })).toMatchObject({
    threadMemoryBytes: 200 * mebibyte,
    threadProcesses: 100,
    allProcesses: 1_000,
  });
  expect(
    totalsOf({ threadMemoryMb: 300, threadProcesses: 60, allMemoryMb: 400, allProcesses: 70 }),
  ).toMatchObject({
    threadMemoryBytes: 300 * mebibyte,
    threadProcesses: 60,
    allMemoryBytes: 400 * mebibyte,
    allProcesses: 70,
  });
});
