import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Redis } from "ioredis";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { heddle } from "../../src/agent/messages.ts";
import { type Forgotten, forgetPerson } from "../../src/operations/people/forget-person.ts";
import { createAccessTokens } from "../../src/operations/people/access-tokens.ts";
import { createSignIns } from "../../src/operations/people/sign-ins.ts";
import { keys } from "../../src/queue/redis/keys.ts";
import { type AuditFact, toAuditFact } from "../../src/telemetry/audit/fact.ts";
import { moveToFiles, readAllEntries, readAllLines } from "../../src/telemetry/audit/files.ts";
import { createAuditKey } from "../../src/telemetry/audit/key.ts";
import { openAuditLog } from "../../src/telemetry/audit/log.ts";
import { createPeopleSeals, readPeople } from "../../src/telemetry/audit/people.ts";
import { verifyLog } from "../../src/telemetry/audit/verify.ts";
import { begin, end, usageOf, write } from "../adapters/console/sessions.ts";
import { fetchMentionChoice, setMentionChoice } from "../../src/queue/stores/mention-choices.ts";
import { startRedis, type TestRedis } from "../fakes/redis.ts";

let server: TestRedis;
let redis: Redis;
let folder: string;
beforeAll(async () => {
  server = await startRedis();
  redis = server.client();
});
afterAll(() => server.stop());
beforeEach(async () => {
  await redis.flushall();
  const made = await mkdtemp(join(tmpdir(), "heddle-people-"));
  folder = made;
  return () => rm(made, { recursive: true, force: true });
});

const key = createAuditKey("a secret of the test");
const ada = { id: "U-1", name: "Ada Ö. Lovelace" };
const bob = { id: "U-2", name: "Bob Ö." };
const thread = "slack:T1:C1:1.5";
const asked = (by: typeof ada): AuditFact => ({ what: "asked", thread, message: "1.5", by });

/** A process that writes the log. */
function openLog(people: boolean, now = Date.now) {
  return openAuditLog(redis, now, (problem) => expect.unreachable(problem), {
    ...{ key, people: people ? createPeopleSeals(redis, now) : undefined },
  });
}
const lines = async () => (await Array.fromAsync(readAllLines(redis, folder))).join("\n");
const openAll = async () => {
  const people = await readPeople(redis);
  return (await Array.fromAsync(readAllEntries(redis, folder))).map(people.open);
};
async function verify(): Promise<string[]> {
  const faults: string[] = [];
  for await (const next of verifyLog(redis, folder, { key }))
    if (next.kind === "fault") faults.push(next.fault);
  return faults;
}
async function forget(person: string, log = openLog(true)): Promise<Forgotten> {
  const forgotten = await forgetPerson(
    {
      ...{ redis, auditFolder: folder, now: Date.now, disconnect: async () => 0 },
      audit: (event) => log.append(toAuditFact({ ...event, by: { id: "operator", name: "root" } }), true),
    },
    person,
  );
  await log.close();
  return forgotten;
}

test("the log names nobody in clear, and whoever reads it is told who it was", async () => {
  const log = openLog(true);
  await log.append(asked(ada));
  const asks = [{ message: "1.5", by: bob }];
  await log.append({ what: "turn-began", thread, turn: "t1", asked: asks });
  await log.append(
    toAuditFact({ action: "token-created", token: "1f", person: "cy", role: "viewer", by: ada }),
  );
  const of = "slack:T1:U-2";
  const change = { setting: "person", of, was: "", is: "deny" };
  await log.append(toAuditFact({ action: "setting-changed", thread, ...change, by: ada } as never));
  await log.append({ what: "facts-lost", count: 1, since: 1, by: heddle });
  const text = await lines();
  // None of them can be part of what is sealed, which is base64.
  for (const word of ["U-1", "U-2", "Ö", '"cy"']) expect(text).not.toContain(word);
  expect(text).toContain('"name":"Heddle"');
  expect(await openAll()).toMatchObject([
    { by: ada },
    { asked: asks },
    { person: "cy", by: ada },
    { of, by: ada },
    { by: heddle },
  ]);
  expect(await verify()).toEqual([]);
});

test("whoever is forgotten is nameless in the files of past days too, and the chain is whole", async () => {
  let now = 5;
  const log = openLog(true, () => now);
  for (const by of [ada, bob, ada]) await log.append(asked(by));
  await moveToFiles(redis, folder, 86_400_000);
  now = 86_400_001;
  await log.append(asked(ada));
  const before = await lines();
  // What there is at the tools of the person's own accounts.
  await redis.hset(keys.mcpPrompts("slack:T1:U-1"), "tickets", "{}");
  const forgotten = await forget("slack:T1:U-1");
  expect(await redis.exists(keys.mcpPrompts("slack:T1:U-1"))).toBe(0);
  expect(forgotten).toMatchObject({ isSealed: true, inClear: 0 });
  expect((await lines()).startsWith(before)).toBe(true);
  const names = (await openAll()).map((entry) => ("by" in entry ? entry.by.name : ""));
  expect(names).toEqual(["(forgotten)", "Bob Ö.", "(forgotten)", "(forgotten)", "root"]);
  expect(await redis.hkeys(keys.auditPeople)).not.toContain("slack:T1:U-1");
  expect(await verify()).toEqual([]);
});

test("nobody is forgotten while the log cannot say so, which would make them nameless unseen", async () => {
  await openLog(true).append(asked(ada));
  const head = await redis.hgetall(keys.auditHead);
  await redis.set(keys.auditHead, "not a hash");
  const log = openAuditLog(redis, Date.now, () => undefined, {
    key,
    people: createPeopleSeals(redis, Date.now),
  });
  await expect(forget("slack:T1:U-1", log)).rejects.toThrow(/WRONGTYPE/);
  await redis.del(keys.auditHead);
  await redis.hset(keys.auditHead, head);
  expect(await openAll()).toMatchObject([{ by: ada }]);
  expect(await verify()).toEqual([]);
});

test("somebody who comes back is another person to the log, within a minute", async () => {
  let now = 5;
  const log = openLog(true, () => now);
  await log.append(asked(ada));
  await forget("slack:T1:U-1");
  now += 60_001;
  await log.append(asked(ada));
  const names = (await openAll()).map((entry) => ("by" in entry ? entry.by.name : ""));
  expect(names).toEqual(["(forgotten)", "root", "Ada Ö. Lovelace"]);
});

test("a key that is gone without a word is found out", async () => {
  await openLog(true).append(asked(ada));
  await redis.del(keys.auditPeople);
  expect(await verify()).toEqual([expect.stringContaining("The names of one person cannot be read")]);
});

test("a call's arguments that look like a sealed name are left as they are, and accuse nobody", async () => {
  const log = openLog(true);
  await log.append(asked(ada));
  const sealed = /sealed:[^"]+/.exec(await lines())?.[0] ?? "";
  for (const text of [sealed, "sealed:0123456789abcdef:AAAA"])
    await log.append({
      ...{ what: "tool-began", thread, turn: "t", call: "c" },
      ...{ tool: "bash", sha256: "", arguments: text },
    });
  expect((await openAll()).slice(1)).toMatchObject([{ arguments: sealed }, {}]);
  expect(await verify()).toEqual([]);
});

test("entries of an older Heddle are read as they are, and counted for whoever asks to be forgotten", async () => {
  const older = openLog(false);
  await older.append(asked(ada));
  await older.append({ what: "turn-began", thread, turn: "t1", asked: [{ message: "1.5", by: ada }] });
  await openLog(true).append(asked(ada));
  expect(await forget("slack:T1:U-1")).toMatchObject({ isSealed: true, inClear: 2 });
  expect(await verify()).toEqual([]);
  expect(await openAll()).toMatchObject([{ by: ada }, { asked: [{ by: ada }] }, {}, {}]);
});

test("notes, names and tokens of the person go, and their threads are listed with who else is in them", async () => {
  await redis.hset(keys.notes("user", "slack:T1:U-1"), "n1", "{}");
  await redis.hset(keys.names, "slack:T1:U-1", "Ada");
  const [alone, both] = ["slack:T1:C1:7.5", "slack:T1:C1:8.5"];
  for (const [place, author] of [
    [alone, "U-1"],
    [both, "U-1"],
    [both, "U-2"],
    ["slack:T1:C1:9.5", "U-2"],
    ["slack:T2:C1:9.5", "U-1"],
  ] as const) {
    await write(redis, place, "Paint the fence", author);
    await end(await begin(redis, place), { kind: "answered", text: "Done.", steps: 1, usage: usageOf(0) });
  }
  const threads = [
    { thread: alone, alone: true },
    { thread: both, alone: false },
  ];
  const nothing = { isSealed: false, inClear: 0, tokens: 0, browsers: 0, accounts: 0 };
  expect(await forget("slack:T1:U-1")).toEqual({ ...nothing, notes: 1, threads });
  expect(await redis.exists(keys.notes("user", "slack:T1:U-1"), keys.names)).toBe(0);

  const tokens = createAccessTokens(redis, Date.now);
  const { token } = await tokens.create({ name: "ada", role: "viewer" });
  await tokens.create({ name: "ada2", role: "viewer" });
  const signIns = createSignIns(redis);
  const cookie = await signIns.begin({ by: "openid", identity: { name: "ada", groups: [] } }, 60);
  const other = await signIns.begin({ by: "openid", identity: { name: "ada2", groups: [] } }, 60);
  expect(await forget("local:console:@ada")).toMatchObject({ tokens: 1, browsers: 1 });
  expect([await signIns.find(cookie), (await signIns.find(other))?.identity?.name]).toEqual([
    undefined,
    "ada2",
  ]);
  expect(await tokens.find({ token })).toBeUndefined();
  expect(await tokens.list()).toHaveLength(1);
});

test("Forgetting a person takes along whether they want to be mentioned", async () => {
  const person = { platform: "slack", workspace: "T1", id: "U7" };
  await setMentionChoice(redis, person, "on");
  await forget("slack:T1:U7");
  expect(await fetchMentionChoice(redis, person)).toBeUndefined();
});

test("Forgetting a person takes along that they were heard last, and nobody else's message", async () => {
  await redis.hset(keys.names, { "slack:T1:U-1": "Ada", "slack:T1:U-2": "Bob" });
  const byAuthor = (by: string) => JSON.stringify({ at: 1, by, where: "#general" });
  await redis.hset(keys.heard, { slack: byAuthor("Ada"), discord: byAuthor("Ada") });
  await forget("slack:T1:U-2");
  expect(await redis.hkeys(keys.heard)).toEqual(["slack", "discord"]);
  await forget("slack:T1:U-1");
  expect(await redis.hkeys(keys.heard)).toEqual(["discord"]);
});
