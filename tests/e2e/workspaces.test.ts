import { execFileSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { useSetting } from "./hooks.ts";
import { processesWith, uniqueSleep } from "./processes.ts";

const here = useSetting();

test("the files of a task are listed, exported as tar, and kept by a clean-up", async () => {
  const task = here.place.start(["run", "Write a calculator in Python"], { REDIS_URL: here.redis.path });
  expect(await task.ended).toBe(0);

  const list = here.place.start(["workspaces", "list"]);
  expect(await list.ended).toBe(0);
  const [, thread = ""] = /^\S+ +\d+\.\dM {2}(local:\S+) {2}\S+\/workspaces\/\w+$/m.exec(list.output()) ?? [];

  const exported = here.place.start(["workspaces", "export", thread, "work.tar"]);
  expect(await exported.ended).toBe(0);
  const archive = join(here.place.folder, "work.tar");
  expect(exported.output()).toBe(archive);
  expect(execFileSync("tar", ["-tf", archive], { encoding: "utf8" })).toContain("./calculator.py");

  const clean = here.place.start(["workspaces", "clean"]);
  expect(await clean.ended).toBe(0);
  expect(clean.output()).toBe("Nothing was idle long enough.");
});

test("sizes that take too long to be measured are said to be missing, and the list is there", async () => {
  const env = { REDIS_URL: here.redis.path };
  expect(await here.place.start(["run", "Write a calculator in Python"], env).ended).toBe(0);
  const bin = join(here.place.folder, "bin");
  await mkdir(bin);
  const { command } = uniqueSleep();
  await writeFile(join(bin, "du"), `#!/bin/sh\nexec ${command}\n`, { mode: 0o755 });
  const list = here.place.start(["workspaces", "list"], { PATH: `${bin}:${process.env["PATH"]}` });
  expect(await list.ended).toBe(0);
  expect(list.output()).toMatch(/^\S+ +not measured {2}local:\S+ {2}\S+\/workspaces\/\w+$/m);
  await expect.poll(() => processesWith(command)).toEqual([]);
});

test("a wrong use is told in one sentence", async () => {
  const none = here.place.start(["workspaces", "export", "local:w:c:nobody"]);
  expect(await none.ended).toBe(2);
  expect(none.output()).toBe(
    "heddle: There is no workspace of local:w:c:nobody; see heddle workspaces list.",
  );
  expect(await here.place.start(["workspaces", "burn"]).ended).toBe(2);
});

test("without a sandbox, nothing starts until that is confirmed", async () => {
  await writeFile(join(here.place.folder, "heddle.yaml"), "sandbox:\n  backend: none\n");
  const env = { REDIS_URL: here.redis.path };
  const unconfirmed = here.place.start(["run", "x"], env);
  expect(await unconfirmed.ended).toBe(1);
  expect(unconfirmed.output()).toContain("set HEDDLE_UNSAFE=no-sandbox as well");

  const confirmed = here.place.start(["start"], { ...env, HEDDLE_UNSAFE: "no-sandbox" });
  expect(await confirmed.line(/^ {2}sandbox/)).toContain("NO SANDBOX");
  confirmed.signal("SIGTERM");
  expect(await confirmed.ended).toBe(0);

  const run = here.place.start(["run", "Write a calculator"], { ...env, HEDDLE_UNSAFE: "no-sandbox" });
  expect(await run.ended).toBe(0);
  expect(run.output()).toContain("**No sandbox**: commands run as the person who started Heddle");
});
