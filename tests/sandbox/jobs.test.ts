import { rmSync } from "node:fs";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Job, Sandbox } from "../../src/sandbox/sandbox.ts";
import { processesWith } from "../e2e/processes.ts";
import { dataFolder, firstOutput, openTwoThreads, type TwoThreads, uniqueSeconds } from "./two-threads.ts";

const dataDir = dataFolder();
let threads: TwoThreads;
beforeAll(async () => {
  threads = await openTwoThreads(dataDir, {
    jobsPerThread: 2,
    jobs: 3,
    jobOutputBytes: 10_000,
    jobMs: 20_000,
  });
});
afterEach(async () => {
  await Promise.all([threads.sandbox.killAll(), threads.other.killAll()]);
});
afterAll(async () => {
  await threads.backend.close();
  rmSync(dataDir, { recursive: true });
});

async function started(sandbox: Sandbox, command: string): Promise<Job> {
  const result = await sandbox.start({ command });
  if (!result.ok) throw new Error(result.message);
  return result.job;
}

describe("a background job", () => {
  test("runs on after the call, and its output can be read from any offset, again and again", async () => {
    const job = await started(threads.sandbox, "echo first; echo second >&2; exit 3");
    expect(job.id).toMatch(/^job-[0-9a-f]{6}$/);
    expect(await job.wait()).toMatchObject({ state: "ended", end: "exit", exitCode: 3 });
    expect(job.status()).toEqual(await job.wait());
    expect(await job.read(0, 100)).toEqual({ data: Buffer.from("first\nsecond\n"), next: 13, total: 13 });
    expect(await job.read(6, 3)).toEqual({ data: Buffer.from("sec"), next: 9, total: 13 });
    expect(await job.read(13, 100)).toEqual({ data: Buffer.alloc(0), next: 13, total: 13 });
    expect(await job.read(50, 100)).toEqual({ data: Buffer.alloc(0), next: 50, total: 13 });
  });

  test("shares its files and nothing else with the commands of its thread", async () => {
    await threads.sandbox.exec({ command: "rm -f signal; mkfifo signal" });
    const job = await started(threads.sandbox, "cat signal");
    await threads.sandbox.exec({ command: "echo through a file >signal" });
    await job.wait();
    expect((await job.read(0, 100)).data.toString()).toBe("through a file\n");
    const { stdout } = await threads.sandbox.exec({ command: "ls /proc | grep -c '^[0-9]'" });
    expect(Number(stdout.toString())).toBeLessThan(8);
  });

  test("is listed while it runs and afterwards", async () => {
    const job = await started(threads.sandbox, `sleep ${uniqueSeconds()}`);
    expect(
      threads.sandbox
        .jobs()
        .find(({ id }) => id === job.id)
        ?.status(),
    ).toEqual({ state: "running" });
    await job.kill();
    expect(threads.sandbox.jobs().map(({ id }) => id)).toContain(job.id);
    expect(threads.other.jobs()).toEqual([]);
  });

  test("is killed with all that it started, and alone", async () => {
    const [stopped, untouched] = [uniqueSeconds(), uniqueSeconds()];
    const job = await started(threads.sandbox, `setsid sleep ${stopped} & sleep ${stopped} & echo up; wait`);
    const other = await started(threads.sandbox, `echo up; sleep ${untouched}; true`);
    await Promise.all([firstOutput(job), firstOutput(other)]);
    expect(await job.kill()).toMatchObject({ commands: 1, processes: 3, survivors: 0 });
    expect(processesWith(stopped)).toEqual([]);
    expect(job.status()).toMatchObject({ state: "ended", end: "stopped" });
    expect(other.status()).toEqual({ state: "running" });
    expect(await job.kill()).toMatchObject({ commands: 0, survivors: 0 });
    await other.kill();
  });

  test("keeps the end of a long output and is ended when there is far too much", async () => {
    const job = await started(threads.sandbox, "seq 1 3000");
    await job.wait();
    const all = Array.from({ length: 3_000 }, (_, index) => `${index + 1}\n`).join("");
    const { data, next, total } = await job.read(0, 100_000);
    expect({ next, total }).toEqual({ next: all.length, total: all.length });
    expect(data.toString()).toBe(all.slice(-10_000));
    // Its bytes have their numbers, whatever is no longer kept of it.
    const from = all.length - 9_000;
    const part = { data: Buffer.from(all.slice(from, from + 50)), next: from + 50, total: all.length };
    expect(await job.read(from, 50)).toEqual(part);
    const flood = await started(threads.sandbox, "yes");
    expect(await flood.wait()).toMatchObject({ end: "output" });
    const { data: last } = await flood.read(0, 100_000);
    expect(last.toString().replaceAll("y\n", "")).toMatch(/^\n?y?$/);
    expect(last.length).toBe(10_000);
  });

  test("is refused with a sentence when the thread or the server has too many", async () => {
    const jobs = [
      await started(threads.sandbox, "sleep 300"),
      await started(threads.sandbox, "sleep 300"),
      await started(threads.other, "sleep 300"),
    ];
    const message = expect.stringMatching(/^This thread already runs 2 background jobs/);
    expect(await threads.sandbox.start({ command: "true" })).toEqual({ ok: false, message });
    const all = expect.stringMatching(/^All 3 background jobs of this server/);
    expect(await threads.other.start({ command: "true" })).toEqual({ ok: false, message: all });
    await Promise.all(jobs.map((job) => job.kill()));
    expect(await (await started(threads.sandbox, "true")).wait()).toMatchObject({ exitCode: 0 });
  });

  test("is forgotten when many have ended after it", async () => {
    const first = await started(threads.sandbox, "true");
    await first.wait();
    for (let count = 0; count < 17; count += 1) await (await started(threads.sandbox, "true")).wait();
    await expect.poll(() => threads.sandbox.jobs().map(({ id }) => id)).not.toContain(first.id);
    expect(threads.sandbox.jobs().length).toBeLessThanOrEqual(17);
  });
});
