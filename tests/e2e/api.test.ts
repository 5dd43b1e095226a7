import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { HeddleClient } from "../../src/client/index.ts";
import { startRedis, type TestRedis } from "../fakes/redis.ts";
import { newPlace, type Place, patienceMs } from "./program.ts";

/** The API of the program as it is started, used as its page in the docs says. */

let redis: TestRedis;
let place: Place;
const settings = { url: "", token: "" };
beforeAll(async () => {
  redis = await startRedis();
  place = await newPlace();
  const env = { REDIS_URL: redis.path, HEDDLE_CONSOLE_TOKEN: "a-token-of-the-console" };
  const create = place.start(["tokens", "create", "ci", "--role", "member"], env);
  settings.token = await create.line(/^heddle_/);
  const program = place.start(["start"], env);
  await program.line(/Heddle is ready/);
  settings.url = /console +(\S+)/.exec(await program.line(/^ +console /))?.[1] ?? "";
}, patienceMs);
afterAll(async () => {
  await place.clean();
  await redis.stop();
});

const page = readFileSync(join(import.meta.dirname, "../../docs/api.md"), "utf8");
const examples = [...page.matchAll(/```sh run\n([\s\S]*?)```/g)].map(([, script = ""]) => script);

async function sh(script: string, thread = ""): Promise<string> {
  const env = {
    PATH: process.env.PATH,
    HEDDLE_URL: settings.url,
    HEDDLE_TOKEN: settings.token,
    THREAD: thread,
  };
  return (await promisify(execFile)("bash", ["-euc", script], { env, encoding: "utf8" })).stdout;
}

test("the examples of docs/api.md do what it says", { timeout: patienceMs }, async () => {
  const [start = "", follow = "", read = "", files = "", say = "", stop = ""] = examples;
  expect(examples).toHaveLength(6);
  const { id, result } = JSON.parse(await sh(start));
  expect(result).toMatchObject({ kind: "accepted" });
  expect(JSON.parse(await sh(start))).toMatchObject({ id, result: { kind: "duplicate" } });

  const events = await sh(follow, id);
  expect(events).toMatch(/^event: entries\nid: \d+\ndata: \{/m);
  expect(events).toContain('"ended":"answered"');
  const details = JSON.parse(await sh(read, id));
  expect(details).toMatchObject({ line: { state: "idle", author: "ci" }, questions: [] });
  expect(details.messages[0]).toMatchObject({ kind: "person", name: "ci" });
  expect(await sh(files, id)).toContain('"path":"README.md"');
  expect(JSON.parse(await sh(say, id))).toMatchObject({ kind: "accepted" });
  expect(await sh(follow, id)).toContain('"ended":"answered"');
  expect(JSON.parse(await sh(stop, id)).kind).toMatch(/^(ignored|stopping)$/);
});

test("the client of the package starts, follows, reads and stops", { timeout: patienceMs }, async () => {
  const heddle = new HeddleClient(settings);
  const text = "Write a calculator in Python with a README";
  const started = await heddle.start(text, { key: "client-1" });
  const again = await heddle.start(text, { key: "client-1" });
  expect([again.id, again.result.kind]).toEqual([started.id, "duplicate"]);
  await expect(heddle.start("Other", { key: "client-1" })).rejects.toMatchObject({ status: 422 });

  const ends: string[] = [];
  for await (const event of heddle.follow(started.id))
    if (event.event === "entries") ends.push(...event.entries.flatMap(({ ended }) => ended ?? []));
  expect(ends).toEqual(["answered"]);
  expect((await heddle.read(started.id)).line).toMatchObject({ thread: started.thread, state: "idle" });
  expect((await heddle.files(started.id)).entries.map(({ path }) => path)).toContain("README.md");
  expect(Buffer.from(await heddle.file(started.id, "README.md")).toString()).toContain("alculator");

  const { id } = await heddle.start("Sleep for ten minutes");
  const endings: unknown[] = [];
  for await (const event of heddle.follow(id)) {
    if (event.event !== "entries") continue;
    if (event.entries.some(({ kind }) => kind === "tool-start")) await heddle.stop(id);
    endings.push(...event.entries.filter(({ kind }) => kind === "turn-end"));
  }
  expect(endings).toMatchObject([{ ended: "stopped", detail: expect.any(String) }]);

  // By its address, which an answer may have named, as well.
  const { thread } = await heddle.start("Sleep for ten minutes");
  expect(await heddle.say(thread, "And then for ten more")).toMatchObject({ kind: "accepted", thread });
  expect(await heddle.stop(thread)).toMatchObject({ kind: "stopping" });
  const ended: unknown[] = [];
  for await (const event of heddle.follow(thread))
    if (event.event === "entries") ended.push(...event.entries.flatMap((entry) => entry.ended ?? []));
  expect(new Set(ended)).toEqual(new Set(["stopped"]));

  const refused = new HeddleClient({ ...settings, token: "heddle_wrong" });
  await expect(refused.read(id)).rejects.toMatchObject({ name: "HeddleError", status: 401 });
});
