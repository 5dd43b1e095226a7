import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createAccessTokens } from "../../src/operations/people/access-tokens.ts";
import { readLatestEntries } from "../../src/telemetry/audit/files.ts";
import { readPeople } from "../../src/telemetry/audit/people.ts";
import { startRedis, type TestRedis } from "../fakes/redis.ts";

const main = resolve(import.meta.dirname, "../../src/heddle.js");
let redis: TestRedis;
let folder: string;
beforeAll(async () => {
  redis = await startRedis();
  folder = await mkdtemp(join(tmpdir(), "heddle-tokens-"));
});
afterAll(async () => {
  await redis.stop();
  await rm(folder, { recursive: true, force: true });
});

const heddle = async (...words: string[]) => {
  const env = { PATH: process.env.PATH, REDIS_URL: redis.path, HEDDLE_DATA_DIR: join(folder, "data") };
  return (await promisify(execFile)(process.execPath, [main, "tokens", ...words], { env, cwd: folder }))
    .stdout;
};

test("a token is shown when it is made and never again, and opens nothing once it is revoked", async () => {
  const [token = "", line = ""] = (await heddle("create", "ada", "--role", "viewer", "--days", "90")).split(
    "\n",
  );
  const tokens = createAccessTokens(redis.client(), Date.now);
  const found = await tokens.find({ token });
  expect(found).toMatchObject({ name: "ada", role: "viewer" });
  expect(line).toMatch(/^[0-9a-f]{8} {2}viewer {4}ada {2}created [\d-]{10}, expires [\d-]{10}$/);
  expect(await heddle("list")).toBe(`${line}\n`);
  expect(await heddle("revoke", found?.id ?? "")).toContain("of ada is revoked");
  expect(await tokens.find({ token })).toBeUndefined();
  const log = JSON.stringify(await redis.client().xrange("heddle:{audit}:log", "-", "+"));
  for (const word of ["token-created", "token-revoked"]) expect(log).toContain(word);
  const people = await readPeople(redis.client());
  const { entries } = await readLatestEntries(redis.client(), folder, Number.MAX_SAFE_INTEGER, 10);
  expect(entries.map(people.open)).toMatchObject([{ person: "ada" }, { person: "ada" }]);
  expect(log).not.toContain(token);
});
