import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Redis } from "ioredis";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { keys } from "../../src/queue/redis/keys.ts";
import { noteAnchor, readAnchor } from "../../src/telemetry/audit/anchor.ts";
import { appendLink, genesis, type Link } from "../../src/telemetry/audit/chain.ts";
import type { AuditFact } from "../../src/telemetry/audit/fact.ts";
import { moveToFiles } from "../../src/telemetry/audit/files.ts";
import { createAuditKey, openAuditKey, readAuditKey } from "../../src/telemetry/audit/key.ts";
import {
  type AuditHealth,
  type AuditLogOptions,
  openAuditLog,
  readAuditHead,
  readAuditLines,
} from "../../src/telemetry/audit/log.ts";
import { createAuditProblems, listAuditProblems } from "../../src/telemetry/audit/problems.ts";
import { type VerifyOptions, verifyLog } from "../../src/telemetry/audit/verify.ts";
import { createMetrics } from "../../src/telemetry/metrics.ts";
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
  const made = await mkdtemp(join(tmpdir(), "heddle-audit-"));
  folder = made;
  return () => rm(made, { recursive: true, force: true });
});

const key = createAuditKey("the key of this test");
const by = { id: "U1", name: "Ada" };
const asked = (message: string): AuditFact => ({ what: "asked", thread: "memory:w:c:t", message, by });
const problems: string[] = [];
beforeEach(() => void problems.splice(0));

const open = (options: AuditLogOptions = { key }, now = Date.now) =>
  openAuditLog(redis, now, (problem) => problems.push(problem), options);

async function write(log: ReturnType<typeof open>, ...messages: string[]): Promise<void> {
  for (const message of messages) await log.append(asked(message));
}

/** What the forger can do: entries with right hashes behind `last`, by XADD alone. */
async function forge(
  last: Link,
  messages: readonly string[],
  options: { head?: boolean } = {},
): Promise<Link> {
  let end = last;
  for (const message of messages) {
    const { line, link } = appendLink(end, asked(message), 1);
    await redis.xadd(keys.audit, `${link.n}-0`, "entry", line);
    end = link;
  }
  if (options.head) await redis.hset(keys.auditHead, end);
  return end;
}

async function verify(options: VerifyOptions = { key }) {
  const faults: string[] = [];
  const messages: string[] = [];
  let whole: unknown;
  for await (const next of verifyLog(redis, folder, options)) {
    if (next.kind === "entry" && "message" in next.entry) messages.push(next.entry.message);
    if (next.kind === "fault") faults.push(next.fault);
    if (next.kind === "whole") whole = next;
  }
  return { faults, messages, whole };
}

describe("heddle audit verify finds, with write access to Redis alone,", () => {
  test("entries that were chained on while the head was left alone", async () => {
    await write(open({}), "1", "2");
    await forge(await readAuditHead(redis), ["forged", "too"]);
    const { faults, whole } = await verify({});
    expect(faults).toEqual(["Entry 3 lies behind the head of the log, which is entry 2."]);
    expect(whole).toBeUndefined();
  });

  test("nothing wrong while others write", async () => {
    const log = open();
    await write(log, "0");
    const end = new AbortController();
    const writes = (async () => {
      for (let n = 1; !end.signal.aborted || n < 50; n++) await log.append(asked(String(n)));
    })();
    for (let run = 0; run < 5; run++) expect((await verify()).faults).toEqual([]);
    end.abort();
    await writes;
  });

  test("entries with the head moved along", async () => {
    const log = open();
    await write(log, "1", "2");
    await forge(await readAuditHead(redis), ["forged", "too"], { head: true });
    await write(log, "3");
    const { faults, messages } = await verify();
    expect(faults).toEqual([expect.stringMatching(/^2 entries from 3 to 4 are not keyed/)]);
    expect(messages).toEqual(["1", "2", "forged", "too", "3"]);
  });

  test("entries with a key's name and a made-up proof", async () => {
    await write(open(), "1");
    const thief = { id: key.id, sign: () => "0".repeat(64) };
    const { line, link } = appendLink(await readAuditHead(redis), asked("forged"), 1, thief);
    await redis.xadd(keys.audit, "2-0", "entry", line);
    await redis.hset(keys.auditHead, link);
    expect((await verify()).faults).toEqual([expect.stringMatching(/^Entry 2 is forged/)]);
  });

  test("entries of another key, and says where to look", async () => {
    await write(open(), "1");
    await write(open({ key: createAuditKey("another one") }), "2");
    expect((await verify()).faults).toEqual([
      expect.stringMatching(/^Entry 2 is keyed with a key that this/),
    ]);
  });

  test("a log that was cut back to an older head, by the anchor beside the files", async () => {
    await write(open(), "1", "2", "3", "4");
    await noteAnchor(redis, folder);
    const { hash = "" } = JSON.parse((await redis.xrange(keys.audit, "2-0", "2-0"))[0]?.[1][1] ?? "{}");
    await redis.xdel(keys.audit, "3-0", "4-0");
    await redis.hset(keys.auditHead, { n: 2, hash });
    expect((await verify()).faults).toEqual(["The log ends with entry 2, but it had 4."]);
    expect(await noteAnchor(redis, folder)).toBe("The head of the audit log is entry 2, but it had 4.");
  });

  test("a log that was replaced as a whole, also by one without any key", async () => {
    await write(open(), "1", "2");
    await noteAnchor(redis, folder);
    await redis.flushall();
    await forge(genesis, ["all", "new", "here"], { head: true });
    expect((await verify()).faults[0]).toBe("Entry 2 is not the one that was noted: the log was made anew.");
    expect(await noteAnchor(redis, folder)).toMatch(/not the one that was noted/);
  });

  test("keyed entries taken out from the first one on, when the log was unkeyed before", async () => {
    await write(open({}), "1", "2");
    const before = await readAuditHead(redis);
    await noteAnchor(redis, folder);
    await write(open(), "3", "4");
    expect((await verify()).whole).toMatchObject({ keyedFrom: 3, link: { n: 4 } });
    await redis.xdel(keys.audit, "3-0", "4-0");
    await redis.del(keys.audit);
    await forge(genesis, ["1", "2"]);
    await redis.del(keys.audit);
    // The unkeyed beginning as it was, and forged entries for the rest.
    for (const [n, line] of (await linesOf(["1", "2"])).entries())
      await redis.xadd(keys.audit, `${n + 1}-0`, "entry", line);
    await forge(before, ["forged"], { head: true });
    expect((await verify()).faults.length).toBeGreaterThan(0);
  });
});

async function linesOf(messages: readonly string[]): Promise<string[]> {
  let last = genesis;
  return messages.map((message) => {
    const { line, link } = appendLink(last, asked(message), 1);
    last = link;
    return line;
  });
}

describe("An upgrade", () => {
  test("leaves a log whole whose beginning has no key", async () => {
    await write(open({}), "1", "2");
    await write(open(), "3");
    expect((await verify()).whole).toMatchObject({ keyedFrom: 3 });
  });

  test("with old and new side by side can be told to the verifier, and only up to where it ended", async () => {
    const [older, newer] = [open({}), open()];
    await write(newer, "1");
    await write(older, "2");
    await write(newer, "3");
    expect((await verify()).faults).toEqual([expect.stringMatching(/--unkeyed-until 2\.$/)]);
    expect((await verify({ key, unkeyedUntil: 2 })).whole).toMatchObject({ link: { n: 3 } });
    await write(older, "4");
    expect((await verify({ key, unkeyedUntil: 2 })).faults).toEqual([
      expect.stringMatching(/^Entry 4 is not/),
    ]);
  });
});

describe("Heddle's own entries go on", () => {
  test("behind forged ones, with an entry that names the break, and are verified from there", async () => {
    const log = open();
    await write(log, "1", "2");
    await forge(await readAuditHead(redis), ["forged", "too"]);
    await write(log, "3", "4");
    expect(problems).toEqual([expect.stringMatching(/newest entry 4\); it goes on with entry 5/)]);
    const { faults, messages } = await verify();
    expect(messages).toEqual(["1", "2", "forged", "too", "3", "4"]);
    expect(faults.length).toBeGreaterThan(0);
    // What is wrong behind the break is found as well.
    await forge(await readAuditHead(redis), ["again"], { head: true });
    expect((await verify()).faults.join()).toMatch(/to 8 are not keyed/);
  });

  test("behind what is no entry at all", async () => {
    const log = open();
    await write(log, "1");
    await redis.xadd(keys.audit, "7-0", "entry", "nonsense");
    await write(log, "2");
    const { faults, messages } = await verify();
    expect([faults[0], messages]).toEqual(["What follows entry 1 is no entry.", ["1", "2"]]);
  });

  test("where the head was set back, also as a process finds it that starts later", async () => {
    await write(open(), "1", "2", "3");
    const known = await readAuditHead(redis);
    await redis.hset(keys.auditHead, { n: 0, hash: genesis.hash });
    await redis.del(keys.audit);
    await write(open({ key, known }), "4");
    const [first = "{}"] = await Array.fromAsync(readAuditLines(redis, 0));
    expect(JSON.parse(first)).toMatchObject({ n: 4, what: "log-broken", known: `3:${known.hash}` });
    expect((await verify()).faults.length).toBeGreaterThan(0);
  });

  test("by one break for all processes", async () => {
    const logs = [open(), open(), open()];
    for (const [at, log] of logs.entries()) await write(log, `1 of ${at}`);
    await forge(await readAuditHead(redis), ["forged"]);
    await Promise.all(logs.map((log, at) => write(log, `2 of ${at}`, `3 of ${at}`)));
    const lines = await Array.fromAsync(readAuditLines(redis, 0));
    expect(lines.filter((line) => line.includes("log-broken"))).toHaveLength(1);
    expect(lines).toHaveLength(3 + 1 + 1 + 6);
  });
});

describe("When the log cannot be written", () => {
  const refuse = async () => void (await redis.set(keys.auditHead, "not a hash"));

  test("it is said once, turns go on, and what waited is written later in its order", async () => {
    const seen: AuditHealth[] = [];
    const log = open({ key, onHealth: (health) => seen.push(health) });
    await refuse();
    await write(log, "1", "2", "3");
    expect(problems).toEqual(["The audit log could not be written."]);
    expect(seen[0]).toMatchObject({ waiting: 1, why: expect.stringMatching(/WRONGTYPE/) });
    await redis.del(keys.auditHead);
    await log.close();
    expect(await verify()).toMatchObject({ faults: [], messages: ["1", "2", "3"] });
    expect(seen.at(-1)).toMatchObject({ failingSince: undefined, lost: 0 });
  });

  test("the metrics count the attempts, what waits and what was lost", async () => {
    const metrics = createMetrics(redis);
    const log = open({ key, mostWaiting: 3, onHealth: metrics.auditHealth });
    const figures = async () =>
      (await metrics.render()).split("\n").filter((line) => line.startsWith("heddle_audit_"));
    await refuse();
    await write(log, "1", "2", "3", "4", "5");
    // They are as of the last attempt.
    await expect
      .poll(figures)
      .toEqual([
        expect.stringMatching(/^heddle_audit_failures_total [1-9]/),
        "heddle_audit_waiting_facts 3",
        "heddle_audit_lost_facts 2",
      ]);
    await redis.del(keys.auditHead);
    await log.close();
    expect(await figures()).toContain("heddle_audit_waiting_facts 0");
    metrics.close();
  });

  test("a tool's call is refused where the log is required", async () => {
    const log = open({ key, required: true });
    await refuse();
    await expect(log.append(asked("1"))).rejects.toThrow(/WRONGTYPE/);
    await log.close();
  });

  test("memory is bounded, and how many facts were lost is itself a fact", async () => {
    const log = open({ key, mostWaiting: 3 });
    await refuse();
    await write(log, "1", "2", "3", "4", "5");
    await redis.del(keys.auditHead);
    await log.close();
    const entries = (await Array.fromAsync(readAuditLines(redis, 0))).map((line) => JSON.parse(line));
    expect(entries.map(({ what, message, count }) => message ?? `${what} ${count}`)).toEqual([
      ...["1", "2", "3"],
      "facts-lost 2",
    ]);
  });

  test("doctor and the System page read it of every process, until it works again", async () => {
    const problem = createAuditProblems(redis, "writing", Date.now);
    await problem.note("OOM");
    expect(await listAuditProblems(redis)).toEqual([
      expect.stringMatching(/^The audit log's writing fails in process \d+ on .* since .*: OOM\.$/),
    ]);
    await problem.clear();
    expect(await listAuditProblems(redis)).toEqual([]);
    await refuse();
    expect(await listAuditProblems(redis)).toEqual([expect.stringMatching(/WRONGTYPE/)]);
  });

  test("a newest entry that is not the head is told at once, and one of past days is not missed", async () => {
    await write(
      open({ key }, () => 5),
      "1",
    );
    expect(await listAuditProblems(redis)).toEqual([]);
    await moveToFiles(redis, folder, 86_400_000);
    expect(await listAuditProblems(redis)).toEqual([]);
    await forge(await readAuditHead(redis), ["forged"]);
    expect(await listAuditProblems(redis)).toEqual([expect.stringMatching(/is not its head/)]);
  });
});

describe("The key", () => {
  test("is made once by processes that start at the same time, and only its user may read it", async () => {
    const made = await Promise.all([1, 2, 3, 4].map(() => openAuditKey(folder, undefined)));
    expect(new Set(made.map(({ id }) => id)).size).toBe(1);
    expect((await readAuditKey(folder, undefined))?.id).toBe(made[0]?.id);
    expect(await readdir(folder)).toEqual(["audit.key"]);
    expect((await stat(join(folder, "audit.key"))).mode & 0o777).toBe(0o600);
  });

  test("is the environment's where there is one, and is not made to verify", async () => {
    const secret = "k".repeat(40);
    expect((await openAuditKey(folder, secret)).id).toBe(createAuditKey(secret).id);
    expect(await readAuditKey(folder, undefined)).toBeUndefined();
    expect(await readdir(folder)).toEqual([]);
  });
});

test("The anchor moves along with the log", async () => {
  await write(open(), "1");
  const first = await readAuditHead(redis);
  expect(await noteAnchor(redis, folder)).toBeUndefined();
  await write(open(), "2");
  expect(await noteAnchor(redis, folder)).toBeUndefined();
  expect(await readAnchor(folder)).toEqual({ v: 1, since: first, head: await readAuditHead(redis) });
});
