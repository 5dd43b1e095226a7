import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { processesWith } from "../../e2e/processes.ts";
import type { Job, Sandbox } from "../../../src/sandbox/sandbox.ts";
import { type Case, firstOutput, output, python, uniqueSeconds, withoutFirstThread } from "../two-threads.ts";

const mebibyte = 1024 * 1024;
const littleMemory = { memoryBytes: 400 * mebibyte };

export const limitCases: Case[] = [
  {
    name: "20. a fork loop stops at the process limit",
    needs: ["/usr/bin/python3"],
    limits: { processes: 50 },
    async run({ sandbox }) {
      const program = `
import os, time
count = 0
try:
    while count < 500:
        if os.fork() == 0: time.sleep(60)
        count += 1
except OSError:
    pass
print(count)`;
      const forked = Number(await output(sandbox, python(program)));
      assert.ok(forked > 30 && forked < 50, String(forked));
    },
  },
  {
    name: "21. a fork bomb ends with its time, leaves nothing, and does not disturb another thread",
    async run({ sandbox, other }) {
      const seconds = uniqueSeconds();
      const bomb = sandbox.exec({
        command: `bomb() { sleep ${seconds} & bomb | bomb & }; bomb; sleep ${seconds}`,
        timeoutMs: 600,
      });
      assert.equal(await output(other, "echo alive"), "alive");
      assert.equal((await bomb).end, "timeout");
      assert.deepEqual(processesWith(seconds), []);
    },
  },
  {
    name: "22. one process cannot take more memory than a process may",
    needs: ["/usr/bin/python3"],
    limits: { processMemoryBytes: 300 * mebibyte },
    async run({ sandbox }) {
      assert.match(await output(sandbox, python("bytearray(600 << 20)")), /MemoryError/);
    },
  },
  {
    name: "23. children that take too much memory together are ended together",
    needs: ["/usr/bin/python3"],
    limits: littleMemory,
    async run({ sandbox }) {
      const seconds = uniqueSeconds();
      const child = `import time; data = b'x' * (200 << 20); time.sleep(${seconds})`;
      const command = `for i in 1 2 3 4 5 6; do /usr/bin/python3 -c "${child}" & done; wait`;
      const { end } = await sandbox.exec({ command, timeoutMs: 30_000 });
      assert.equal(end, "memory");
      assert.deepEqual(processesWith(seconds), []);
      assert.equal(await output(sandbox, "echo another"), "another");
    },
  },
  {
    name: "23b. memory of a process whose first thread has ended counts",
    needs: ["/usr/bin/python3"],
    limits: littleMemory,
    async run({ sandbox }) {
      const program = withoutFirstThread(`data = b'x' * (600 << 20); time.sleep(60)`);
      const { end } = await sandbox.exec({ command: python(program), timeoutMs: 30_000 });
      assert.equal(end, "memory");
    },
  },
  {
    name: "24. shared memory counts, and counts or is not to be had when it is no longer mapped",
    needs: ["/usr/bin/python3"],
    limits: littleMemory,
    async run({ sandbox }) {
      const program = `
import mmap
area = mmap.mmap(-1, 2 << 30)
for page in range(0, 2 << 30, 4096): area[page] = 1`;
      assert.equal((await sandbox.exec({ command: python(program), timeoutMs: 30_000 })).end, "memory");
      const segments = `
import ctypes, sys
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
for segment in range(20):
    number = libc.shmget(0, 50 << 20, 0o1600)
    if number < 0: sys.exit("refused")
    address = ctypes.c_void_p(libc.shmat(number, None, 0))
    ctypes.memset(address, 1, 50 << 20)
    libc.shmdt(address)`;
      const { end, stderr } = await sandbox.exec({ command: python(segments), timeoutMs: 30_000 });
      assert.ok(end === "memory" || stderr.toString().includes("refused"), `${end}: ${stderr.toString()}`);
    },
  },
  {
    name: "25. a spinning command ends with its time",
    async run({ sandbox }) {
      const { end } = await sandbox.exec({ command: "while :; do :; done", timeoutMs: 200 });
      assert.equal(end, "timeout");
    },
  },
  {
    name: "26. a file stops growing at its limit",
    limits: { fileBytes: 8 * mebibyte },
    async run({ sandbox }) {
      const { exitCode } = await sandbox.exec({ command: "dd if=/dev/zero of=big bs=1M count=1000" });
      assert.notEqual(exitCode, 0);
      assert.equal(await output(sandbox, "stat -c %s big"), String(8 * mebibyte));
    },
  },
  {
    name: "27. nothing in memory can be written as files",
    async run({ sandbox }) {
      const writable = await output(sandbox, `awk '$3 == "tmpfs" && $4 ~ /^rw/' /proc/self/mounts`);
      assert.equal(writable, "");
      assert.match(await output(sandbox, "touch /dev/shm/x && stat -f -c %T /dev/shm"), /^(?!tmpfs).+$/);
    },
  },
  {
    name: "28. endless output is ended, and little of it is kept",
    async run({ sandbox }) {
      const { end, stdout, stderr, droppedBytes } = await sandbox.exec({
        command: "yes",
        maxOutputBytes: 10_000,
      });
      assert.equal(end, "output");
      assert.equal(stdout.length + stderr.length, 10_000);
      assert.ok(droppedBytes >= 150_000, String(droppedBytes));
      // What was on its way when the command was killed; the bot never holds more of it.
      assert.ok(droppedBytes < 32 * mebibyte, String(droppedBytes));
    },
  },
  {
    name: "46. files that are open and deleted count, and who holds too many of them is ended, alone",
    limits: { workspaceBytes: 40 * mebibyte, freeBytes: 0 },
    async run({ sandbox, other }) {
      const innocent = await other.start({ command: "for i in {1..600}; do echo x >>log; sleep 0.1; done" });
      assert.ok(innocent.ok);
      const hold = (files: number, pause: number) => `
for ((number = 10; number < ${10 + files}; number++)); do
  eval "exec $number<>/tmp/file-$number"; rm /tmp/file-$number; head -c 1000000 /dev/zero >&$number; sleep ${pause}
done`;
      const few = await sandbox.exec({ command: `${hold(15, 0)}; sleep 2` });
      assert.equal(few.end, "exit");
      const many = await sandbox.exec({ command: `${hold(60, 0.1)}; sleep 60`, timeoutMs: 45_000 });
      assert.equal(many.end, "disk");
      assert.deepEqual(innocent.job.status(), { state: "running" });
      assert.equal((await innocent.job.kill()).survivors, 0);
    },
  },
  {
    name: "46b. so do those of a process whose first thread has ended",
    needs: ["/usr/bin/python3"],
    limits: { workspaceBytes: 40 * mebibyte, freeBytes: 0 },
    async run({ sandbox }) {
      const hold = `
    files = []
    for number in range(60):
        file = open("/tmp/file", "wb"); os.unlink("/tmp/file"); file.write(b"x" * 1_000_000); file.flush()
        files.append(file); time.sleep(0.1)
    time.sleep(60)`;
      const command = python(withoutFirstThread(hold));
      assert.equal((await sandbox.exec({ command, timeoutMs: 45_000 })).end, "disk");
    },
  },
  {
    name: "47. a thread's commands have a total of memory together, and another thread runs on",
    needs: ["/usr/bin/python3"],
    limits: { memoryBytes: 400 * mebibyte, threadMemoryBytes: 350 * mebibyte },
    async run({ sandbox, other }) {
      const jobs = [await other.start(take(100)), await sandbox.start(take(100))].map(running);
      for (const job of jobs) assert.match(await firstOutput(job), /taken/);
      assert.equal((await sandbox.exec({ ...take(290), timeoutMs: 45_000 })).end, "memory");
      assert.deepEqual(
        jobs.map((job) => job.status().state),
        ["running", "running"],
      );
      for (const job of jobs) await job.kill();
    },
  },
  {
    name: "48. all threads have a total of memory together, at which who has most of it is ended",
    needs: ["/usr/bin/python3"],
    limits: { memoryBytes: 400 * mebibyte, allMemoryBytes: 400 * mebibyte },
    async run({ sandbox, other }) {
      const innocent = running(await other.start(take(100)));
      assert.match(await firstOutput(innocent), /taken/);
      assert.equal((await sandbox.exec({ ...take(350), timeoutMs: 45_000 })).end, "memory");
      assert.deepEqual(innocent.status(), { state: "running" });
      await innocent.kill();
    },
  },
  ...(["thread", "all"] as const).map(
    (whose): Case => ({
      name: `49${whose === "all" ? "b" : ""}. the processes of ${whose === "all" ? "all threads" : "a thread"} together stay within their total`,
      needs: ["/usr/bin/python3"],
      limits: { processes: 60, ...(whose === "all" ? { allProcesses: 90 } : { threadProcesses: 90 }) },
      async run({ sandbox, other }) {
        const innocent = running(await other.start({ command: "echo ready; sleep 60" }));
        assert.match(await firstOutput(innocent), /ready/);
        const fork = `
import os, time
count = 0
try:
    while count < 50:
        if os.fork() == 0: time.sleep(60)
        count += 1
except OSError: pass
print(count, flush=True)
time.sleep(60)`;
        const greedy = [1, 2, 3].map(() => sandbox.start({ command: python(fork) }));
        const jobs = (await Promise.all(greedy)).map(running);
        const counts = (await Promise.all(jobs.map(firstOutput))).map(Number);
        const started = counts.reduce((sum, count) => sum + count, 0);
        // Either no more can be forked, or one of them is soon ended.
        if (started > 100) {
          const ended = await Promise.race(jobs.map((job) => job.wait()));
          assert.ok(ended.state === "ended" && ended.end === "processes", JSON.stringify(ended));
        }
        assert.deepEqual(innocent.status(), { state: "running" });
        assert.ok(await sandbox.listFiles());
        const { processes, survivors } = await sandbox.killAll();
        assert.ok(processes <= 110 && survivors === 0, `${processes} processes, ${survivors} survivors`);
        await innocent.kill();
      },
    }),
  ),
  {
    name: "50. the kernel takes commands first when memory runs out, which they cannot change where the bot may say so",
    async run({ sandbox }) {
      assert.equal(await output(sandbox, "cat /proc/self/oom_score_adj"), "1000");
      // Bit 24 is CAP_SYS_RESOURCE, which root does not have everywhere.
      const capabilities = /^CapEff:\s+(\w+)$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
      if (((BigInt(`0x${capabilities}`) >> 24n) & 1n) === 0n) return;
      const unused =
        "echo 0 >/proc/self/oom_score_adj; (echo 0 >/proc/self/oom_score_adj); cat /proc/self/oom_score_adj";
      assert.match(await output(sandbox, `{ ${unused}; } 2>/dev/null`), /^1000$/);
    },
  },
];

/** A command that takes so much memory and keeps it. */
function take(mebibytes: number) {
  return {
    command: python(`
import time
data = b"x" * (${mebibytes} << 20)
print("taken", flush=True)
time.sleep(60)`),
  };
}

function running(started: Awaited<ReturnType<Sandbox["start"]>>): Job {
  if (!started.ok) throw new Error(started.message);
  return started.job;
}
