import { execFileSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { startRedis, type TestRedis } from "../fakes/redis.ts";
import { newPlace, type Place } from "./program.ts";

let redis: TestRedis;
let place: Place;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());
beforeEach(async () => {
  place = await newPlace();
});
afterEach(async ({ task }) => {
  if (task.result?.state === "fail") console.error(place.outputs());
  await place.clean();
});

test("the files of a task are listed, exported as tar, and kept by a clean-up", async () => {
  const task = place.start(["run", "Write a calculator in Python"], { REDIS_URL: redis.path });
  expect(await task.ended).toBe(0);

  const list = place.start(["workspaces", "list"]);
  expect(await list.ended).toBe(0);
  const [, thread = ""] = /^\S+ {2}(local:\S+) {2}\S+\/workspaces\/\w+$/m.exec(list.output()) ?? [];

  const exported = place.start(["workspaces", "export", thread, "work.tar"]);
  expect(await exported.ended).toBe(0);
  const archive = join(place.folder, "work.tar");
  expect(exported.output()).toBe(archive);
  expect(execFileSync("tar", ["-tf", archive], { encoding: "utf8" })).toContain("./calculator.py");

  const clean = place.start(["workspaces", "clean"]);
  expect(await clean.ended).toBe(0);
  expect(clean.output()).toBe("Nothing was idle long enough.");
});

test("a wrong use is told in one sentence", async () => {
  const none = place.start(["workspaces", "export", "local:w:c:nobody"]);
  expect(await none.ended).toBe(2);
  expect(none.output()).toBe(
    "heddle: There is no workspace of local:w:c:nobody; see heddle workspaces list.",
  );
  expect(await place.start(["workspaces", "burn"]).ended).toBe(2);
});

test("without a sandbox, nothing starts until that is confirmed", async () => {
  await writeFile(join(place.folder, "heddle.yaml"), "sandbox:\n  backend: none\n");
  const env = { REDIS_URL: redis.path };
  const unconfirmed = place.start(["run", "x"], env);
  expect(await unconfirmed.ended).toBe(1);
  expect(unconfirmed.output()).toContain("set HEDDLE_UNSAFE=no-sandbox as well");

  const confirmed = place.start(["start"], { ...env, HEDDLE_UNSAFE: "no-sandbox" });
  expect(await confirmed.line(/^ {2}sandbox/)).toContain("NO SANDBOX");
  confirmed.signal("SIGTERM");
  expect(await confirmed.ended).toBe(0);

  const run = place.start(["run", "Write a calculator"], { ...env, HEDDLE_UNSAFE: "no-sandbox" });
  expect(await run.ended).toBe(0);
  expect(run.output()).toContain("**No sandbox**: commands run as the person who started Heddle");
});
