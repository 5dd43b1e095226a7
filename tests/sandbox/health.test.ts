import { rmSync, symlinkSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createBubblewrapBackend } from "../../src/sandbox/bubblewrap/backend.ts";
import { monitorSandbox } from "../../src/sandbox/health.ts";
import { dataFolder } from "./two-threads.ts";

test("a probe that failed is repeated when a turn begins, at most once a minute, and logged each time", async () => {
  const folder = dataFolder();
  const dataDir = join(folder, "data");
  symlinkSync("/sys/heddle", dataDir);
  const backend = createBubblewrapBackend({ dataDir });
  let time = 0;
  const said: string[] = [];
  const log = { info: (line: string) => said.push(line), warn: (line: string) => said.push(line) };
  const watched = monitorSandbox(backend, log, { now: () => time });
  expect((await watched.probe()).ok).toBe(false);

  unlinkSync(dataDir); // What made it fail has passed.
  time = 59_000;
  expect((await watched.refresh()).ok).toBe(false);
  time = 61_000;
  expect((await Promise.all([watched.refresh(), watched.refresh()])).map(({ ok }) => ok)).toEqual([
    true,
    true,
  ]);
  expect((await watched.probe()).ok).toBe(true);
  expect(said).toEqual([
    "Sandbox: bubblewrap: not usable",
    expect.stringMatching(/^Sandbox: The sandbox could not be prepared: .* Make the data folder writable/),
    expect.stringMatching(/^Sandbox: bubblewrap 0.*; limits tier [123] \(/),
  ]);

  await backend.close();
  rmSync(folder, { recursive: true });
});
