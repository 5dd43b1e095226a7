import { spawnSync } from "node:child_process";
import { appendFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test, type TestContext } from "vitest";
import type { SandboxLimits } from "../../src/sandbox/limits.ts";
import { dataFolder, firstOutput, type TwoThreads, openTwoThreads, output } from "./two-threads.ts";

let threads: TwoThreads | undefined;
let dataDir: string;
afterEach(async () => {
  await threads?.backend.close();
  rmSync(dataDir, { recursive: true });
});

async function limitedTo(limits: Partial<SandboxLimits>): Promise<TwoThreads> {
  dataDir = dataFolder();
  threads = await openTwoThreads(dataDir, limits);
  return threads;
}

/** Repeats a command that writes too much until it is refused: that is noticed soon after it has ended. */
async function untilFull({ sandbox }: TwoThreads, command: string): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const { end } = await sandbox.exec({ command });
    if (end === "disk") return;
  }
  throw new Error("The disk was never full.");
}

describe("a thread whose files take too much", () => {
  test("can read and delete but not write, until there is room again", async () => {
    const full = await limitedTo({ workspaceBytes: 2 * 1024 * 1024, freeBytes: 0 });
    const { sandbox } = full;
    await untilFull(full, "for i in 1 2 3; do head -c 1000000 /dev/zero >file-$RANDOM-$i; done");
    const more = Buffer.from("more");
    expect(await sandbox.writeFile("more", more)).toMatchObject({ ok: false, reason: "disk-full" });
    expect(await sandbox.listFiles()).toMatchObject({ ok: true });
    expect(await output(sandbox, "rm -f file-*; echo removed")).toBe("removed");
    expect(await sandbox.writeFile("more", more)).toMatchObject({ ok: true });
    expect(await full.other.writeFile("not mine", more)).toMatchObject({ ok: true });
  });

  test("is noticed at once, however short ago there was room", async () => {
    const { sandbox } = await limitedTo({ workspaceBytes: 8 * 1024 * 1024, freeBytes: 0 });
    // With so many files a look takes so long that the next one would have to wait for some seconds.
    await output(sandbox, "mkdir many; cd many; touch {1..10000}");
    const writes = async () => (await sandbox.exec({ command: "echo x >>file" })).end;
    expect(await writes()).toBe("exit");
    const ends = new Set<string>();
    // Again, because others free room on this disk meanwhile, behind which one file alone can hide.
    for (let file = 0; file < 8 && !ends.has("disk"); file += 1) {
      await sandbox.exec({ command: `head -c 12M /dev/zero >large-${file}` });
      for (let attempt = 0; attempt < 3; attempt += 1) ends.add(await writes());
    }
    expect(ends).toContain("disk");
  });

  test("may take its time to delete what it has too much, also when its bot has just started", async () => {
    const limits = { workspaceBytes: 2 * 1024 * 1024, freeBytes: 0 };
    const full = await limitedTo(limits);
    await untilFull(full, "[ -e file ] || head -c 3000000 /dev/zero >file; echo x >>file");
    await full.backend.close();
    threads = await openTwoThreads(dataDir, limits);
    expect(await output(threads.sandbox, "sleep 2.5; rm file; echo removed")).toBe("removed");
  });

  test("is noticed by the number of files as well", async () => {
    const full = await limitedTo({ workspaceInodes: 100, freeBytes: 0 });
    await untilFull(full, "touch $(seq 1 200); echo x >>file");
  });
});

test("a folder that nobody may enter is counted as well", async () => {
  const full = await limitedTo({ workspaceBytes: 2 * 1024 * 1024, freeBytes: 0 });
  await full.sandbox.exec({
    command: "mkdir -p a/b && head -c 3000000 /dev/zero >a/b/file && chmod 0 a/b a && echo x >file",
  });
  await untilFull(full, "echo x >>file");
  // Otherwise its owner could not remove it either, when the test is over.
  await full.sandbox.exec({ command: "chmod 700 a && chmod 700 a/b" });
});

test("a folder that a job shuts again and again hides nothing", async () => {
  const full = await limitedTo({ workspaceBytes: 2 * 1024 * 1024, freeBytes: 0 });
  const job = await full.sandbox.start({
    command: `head -c 3000000 /dev/zero >file && mkdir d-{1..20} && echo ready; node -e 'for (;;) for (const name of process.argv.slice(1)) fs.chmodSync(name, 0)' d-*`,
  });
  if (!job.ok) throw new Error(job.message);
  expect(await firstOutput(job.job)).toContain("ready");
  await untilFull(full, "echo x >>file");
  await job.job.kill();
  await full.sandbox.exec({ command: "chmod 700 d-*" });
});

test("a host whose disk is nearly full lets no thread write", async () => {
  const full = await limitedTo({ freeBytes: 2 ** 60 });
  await untilFull(full, "echo x >file");
});

test("a command that goes on filling the disk is ended while it runs", async () => {
  const { sandbox } = await limitedTo({
    workspaceBytes: 2 * 1024 * 1024,
    fileBytes: 1024 * 1024,
    freeBytes: 0,
  });
  const command = "while :; do i=$((i + 1)); head -c 1000000 /dev/zero >file-$i; sleep 0.2; done";
  expect((await sandbox.exec({ command, timeoutMs: 25_000 })).end).toBe("disk");
});

describe("on a small disk that threads fill together", () => {
  const mebibyte = 1024 * 1024;
  let disk: string | undefined;
  afterEach(() => {
    if (disk) spawnSync("umount", ["--lazy", disk]);
    disk = undefined;
  });

  /** A disk of its own in the data folder. */
  async function smallDisk(context: TestContext, limits: Partial<SandboxLimits>): Promise<TwoThreads> {
    dataDir = dataFolder();
    disk = join(dataDir, "disk");
    mkdirSync(disk);
    const { status } = spawnSync("mount", ["-t", "tmpfs", "-o", "size=120m,mode=755", "tmpfs", disk]);
    context.skip(status !== 0, "this user cannot mount a disk to try");
    threads = await openTwoThreads(disk, limits);
    return threads;
  }
  const littleByLittle = "for ((;;)); do head -c 3000 /dev/zero >>log; echo; sleep 0.1; done";
  const quickly = "for ((i = 0;; i++)); do head -c 1000000 /dev/zero >file-$i; sleep 0.02; done";

  test("the one that takes most is ended at the host's floor, and others run on", async (context) => {
    const { sandbox, other } = await smallDisk(context, {
      workspaceBytes: 200 * mebibyte,
      freeBytes: 60 * mebibyte,
    });
    const job = await other.start({ command: littleByLittle });
    if (!job.ok) throw new Error(job.message);
    await firstOutput(job.job);
    expect(await sandbox.exec({ command: quickly, timeoutMs: 60_000 })).toMatchObject({ end: "disk" });
    // The disk is as full as before, and there is still room for little.
    const { total } = await job.job.read(0, 0);
    await expect
      .poll(async () => (await job.job.read(0, 0)).total, { timeout: 30_000 })
      .toBeGreaterThan(total + 20);
    expect(job.job.status()).toEqual({ state: "running" });
    expect((await sandbox.exec({ command: "echo x >more" })).end).toBe("disk");
    expect(await output(sandbox, "rm file-*; echo removed")).toBe("removed");
    await expect.poll(() => sandbox.writeFile("new", Buffer.from("x"))).toMatchObject({ ok: true });
  });

  test("nobody is ended for what somebody else takes", async (context) => {
    const { sandbox, dataDir: root } = await smallDisk(context, {
      workspaceBytes: 200 * mebibyte,
      freeBytes: 60 * mebibyte,
    });
    const job = await sandbox.start({ command: littleByLittle });
    if (!job.ok) throw new Error(job.message);
    await firstOutput(job.job);
    writeFileSync(join(root, "not a thread's"), Buffer.alloc(80 * mebibyte));
    const { total } = await job.job.read(0, 0);
    await expect
      .poll(async () => (await job.job.read(0, 0)).total, { timeout: 30_000 })
      .toBeGreaterThan(total + 30);
    expect(job.job.status()).toEqual({ state: "running" });
  });

  test("a disk that others filled to the last byte ends nothing that runs, and refuses what begins", async (context) => {
    const { sandbox, other, dataDir: root } = await smallDisk(context, { freeBytes: 0 });
    const job = await other.start({ command: "for ((;;)); do echo; sleep 0.1; done" });
    if (!job.ok) throw new Error(job.message);
    await firstOutput(job.job);
    const filler = join(root, "not a thread's");
    expect(() => {
      for (;;) appendFileSync(filler, Buffer.alloc(mebibyte / 16));
    }).toThrow("ENOSPC");
    expect(() => {
      for (;;) appendFileSync(filler, "x");
    }).toThrow("ENOSPC");
    expect(await sandbox.exec({ command: "echo begins" })).toMatchObject({
      end: "failed",
      problem: expect.stringContaining("the disk is full"),
    });
    const { total } = await job.job.read(0, 0);
    await expect
      .poll(async () => (await job.job.read(0, 0)).total, { timeout: 30_000 })
      .toBeGreaterThan(total + 5);
    rmSync(filler);
    expect(await output(sandbox, "echo again")).toBe("again");
    await job.job.kill();
  });
});
