import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createBubblewrapBackend } from "../../src/sandbox/bubblewrap/backend.ts";
import { createUnconfinedBackend } from "../../src/sandbox/plain/backend.ts";
import { openRunningRegistry } from "../../src/sandbox/running/registry.ts";
import type { Claim, Sandbox, SandboxBackend } from "../../src/sandbox/sandbox.ts";
import { readIdentity } from "../../src/sandbox/thread/processes.ts";
import { processesWith } from "../e2e/processes.ts";
import { dataFolder, firstOutput, uniqueSeconds } from "./two-threads.ts";

/** Two workers of one host that share a data folder; the second one takes over what the first one runs. */
describe.each([
  ["bubblewrap", createBubblewrapBackend, 2],
  // The shell itself is counted by neither kind of stop there.
  ["none", createUnconfinedBackend, 1],
])("with the back end %s", (_name, create, processes) => {
  const dataDir = dataFolder();
  let [former, next]: SandboxBackend[] = [];
  const thread = "local:w:c:1";
  beforeAll(async () => {
    [former, next] = [create({ dataDir }), create({ dataDir })];
    await Promise.all([former.probe(), next.probe()]);
  });
  afterAll(async () => {
    await Promise.all([former?.close(), next?.close()]);
    rmSync(dataDir, { recursive: true });
  });

  const older: Claim = { created: 1, epoch: 1 };
  const newer: Claim = { created: 1, epoch: 2 };

  /** The thread's sandbox as a worker has it that works on the claim. */
  function open(backend: SandboxBackend | undefined, claim: Claim): Promise<Sandbox> {
    if (!backend) throw new Error("There is no back end.");
    return backend.open(thread, claim);
  }

  /** The programs that are noted as running. */
  const noted = () =>
    readdirSync(join(dataDir, "running"), { recursive: true, encoding: "utf8" }).filter((name) =>
      name.includes("run-"),
    );

  test("both see the same processes", () => {
    expect(former?.processes.place()).toBeDefined();
    expect(next?.processes.place()).toBe(former?.processes.place());
  });

  test("whoever takes over ends the command of the claim before, and sees it dead", async () => {
    const seconds = uniqueSeconds();
    const begun = Promise.withResolvers<void>();
    const result = (await open(former, older)).exec({
      command: `sleep ${seconds} & echo up; wait`,
      onOutput: () => begun.resolve(),
    });
    await begun.promise;
    expect(await next?.processes.takeOver(thread, newer)).toEqual({
      commands: 1,
      processes,
      survivors: 0,
    });
    expect(processesWith(seconds)).toEqual([]);
    expect((await result).end).not.toBe("stopped");
  });

  test("nothing starts any more on the older claim, and everything on the newer one", async () => {
    const late = await (await open(former, older)).exec({ command: "touch late" });
    expect(late).toMatchObject({ end: "failed", problem: expect.stringContaining("taken this thread over") });
    expect(await (await open(former, older)).readFile("late")).toMatchObject({ ok: false });
    const allowed = await (await open(next, newer)).exec({ command: "ls late" });
    expect(allowed.exitCode).not.toBe(0);
    expect(allowed.end).toBe("exit");
  });

  test("a session that was begun anew counts its claims from the start", async () => {
    const begunLater: Claim = { created: 2, epoch: 1 };
    expect(await next?.processes.takeOver(thread, begunLater)).toEqual({
      commands: 0,
      processes: 0,
      survivors: 0,
    });
    expect((await (await open(next, begunLater)).exec({ command: "true" })).exitCode).toBe(0);
  });

  test("a background job stays when a thread is taken over, and ends when all of the thread is ended", async () => {
    const seconds = uniqueSeconds();
    const started = await (await open(former, { created: 2, epoch: 2 })).start({
      command: `sleep ${seconds} & echo up; wait`,
    });
    if (!started.ok) throw new Error(started.message);
    await firstOutput(started.job);
    await next?.processes.takeOver(thread, { created: 2, epoch: 3 });
    expect(started.job.status()).toEqual({ state: "running" });

    expect(await next?.processes.endAll(thread)).toEqual({ commands: 1, processes, survivors: 0 });
    expect(processesWith(seconds)).toEqual([]);
    expect(await started.job.wait()).toMatchObject({ state: "ended" });
  });

  test("what the console reads meanwhile is read to its end", async () => {
    const claim: Claim = { created: 2, epoch: 3 };
    await (await open(next, claim)).exec({ command: "head -c 15000000 /dev/zero > large" });
    // Without a claim, as whoever only looks at the files.
    const read = (await former?.open(thread))?.readFile("large");
    await expect.poll(() => noted(), { interval: 1 }).toHaveLength(1);
    await next?.processes.takeOver(thread, claim);
    expect(await read).toMatchObject({ ok: true, size: 15_000_000 });
  });

  test("nothing stays noted of what has ended", async () => {
    await (await open(next, { created: 2, epoch: 4 })).exec({ command: "true" });
    await Promise.all([former?.close(), next?.close()]);
    expect(noted()).toEqual([]);
  });
});

test("a note that is gone before its program has begun is not made again, and disturbs nobody", () => {
  const folder = dataFolder();
  const registry = openRunningRegistry(folder, { backend: "b", by: readIdentity(process.pid) });
  const outer = readIdentity(process.pid);
  const entry = registry.enter("thread", { kind: "command", text: "sleep", outer });
  if (!entry) throw new Error("It was not noted.");
  for (const { name } of registry.list("thread")) registry.remove("thread", name);
  entry.began(outer);
  expect(registry.list("thread")).toEqual([]);
  rmSync(folder, { recursive: true });
  entry.began(outer);
  entry.ended();
});
