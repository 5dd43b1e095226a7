import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import fc from "fast-check";
import type { Redis } from "ioredis";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type { AgentEvent } from "../../src/agent/events.ts";
import { heddle, type ToolCall } from "../../src/agent/messages.ts";
import { noUsage } from "../../src/agent/model.ts";
import type { InboundEvent } from "../../src/chat/inbound.ts";
import { reportAudit } from "../../src/operations/installation/audit.ts";
import { keys } from "../../src/queue/redis/keys.ts";
import { noChanges, type TurnDisplay } from "../../src/queue/turns/contracts.ts";
import { appendLink, genesis, type Link } from "../../src/telemetry/audit/chain.ts";
import { describeCallEnd, maskArguments } from "../../src/telemetry/audit/call-fact.ts";
import { type AuditFact, toAuditFact, toInboundFact } from "../../src/telemetry/audit/fact.ts";
import { AuditBusy, moveToFiles, readLatestEntries, withAuditLock } from "../../src/telemetry/audit/files.ts";
import { type AuditLog, openAuditLog, readAuditHead } from "../../src/telemetry/audit/log.ts";
import { verifyLog } from "../../src/telemetry/audit/verify.ts";
import { auditObserver } from "../../src/telemetry/audit/observer.ts";
import { startRedis, type TestRedis } from "../fakes/redis.ts";
import { newTurn, noDisplay } from "./no-display.ts";
import { countAttacks } from "../attacks.ts";

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

const by = { id: "U1", name: "Ada" };
const asked = (message: string): AuditFact => ({ what: "asked", thread: "memory:w:c:t", message, by });
const day = 86_400_000;

const open = (client: Redis, now = Date.now) =>
  openAuditLog(client, now, (problem) => expect.unreachable(problem));

/** A log that takes everything. */
const keptIn = (facts: AuditFact[]): AuditLog => ({
  append: async (fact) => void facts.push(fact),
  note: async (fact) => void facts.push(fact),
  close: async () => undefined,
});

/** What `verify` says, and the messages of the entries that it found sound. */
async function verify(anchor?: Link) {
  const messages: string[] = [];
  for await (const next of verifyLog(redis, folder, { anchor })) {
    if (next.kind !== "entry") return { ...next, messages };
    if ("message" in next.entry) messages.push(next.entry.message);
  }
  throw new Error("The check came to no end.");
}

describe("The audit log", () => {
  test("is one chain, whichever processes write it at the same time", async () => {
    const logs = [1, 2, 3, 4].map(() => open(server.client()));
    const writes = logs.flatMap((log, process) =>
      Array.from({ length: 50 }, (_, n) => log.append(asked(`${process}-${n}`))),
    );
    await Promise.all(writes);
    const { kind, link, messages } = await verify();
    expect([kind, link.n, new Set(messages).size]).toEqual(["whole", 200, 200]);
    const ofFirst = messages.filter((message) => message.startsWith("0-"));
    expect(ofFirst).toEqual(Array.from({ length: 50 }, (_, n) => `0-${n}`));
  });

  test("goes on where an earlier process ended", async () => {
    await open(redis).append(asked("1"));
    await open(redis).append(asked("2"));
    expect(await verify()).toMatchObject({ kind: "whole", messages: ["1", "2"] });
  });

  test("moves past days to files, and is whole across both", async () => {
    let now = 10 * day - 5;
    const log = open(redis, () => (now += 1));
    for (let n = 1; n <= 8; n += 1) await log.append(asked(String(n)));
    expect(await moveToFiles(redis, folder, 10 * day + 50)).toBe(4);
    expect(await moveToFiles(redis, folder, 10 * day + 50)).toBe(0);
    expect(await moveToFiles(redis, folder, 11 * day)).toBe(4);
    await log.append(asked("9"));
    expect(await readdir(folder)).toEqual(["000000000001.jsonl", "000000000005.jsonl"]);
    expect(await redis.xlen(keys.audit)).toBe(1);
    expect(await verify()).toMatchObject({ kind: "whole", messages: [..."123456789"] });
  });

  test("is whole when the process died between the file and Redis", async () => {
    const log = open(redis, () => 5);
    await log.append(asked("1"));
    const entry = (await redis.xrange(keys.audit, "-", "+"))[0]?.[1] ?? [];
    await moveToFiles(redis, folder, day);
    await redis.xadd(keys.audit, "1-1", ...entry);
    await moveToFiles(redis, folder, day);
    expect(await verify()).toMatchObject({ kind: "whole", messages: ["1"] });
  });

  test("stays in Redis as a whole where the disk takes a part of its last entry", async () => {
    const log = open(redis, () => 5);
    const lines = async () => (await redis.xrange(keys.audit, "-", "+")).map(([, [, line = ""]]) => line);
    // As long as a block of the limit below, and a part of an entry more.
    for (let n = 1; (await lines()).join("\n").length <= 1_024; n += 1) await log.append(asked(String(n)));
    const module = new URL("../../src/telemetry/audit/files.ts", import.meta.url).href;
    const program = `import { Redis } from "ioredis";
      import { moveToFiles } from ${JSON.stringify(module)};
      const redis = new Redis(${JSON.stringify(server.path)});
      await moveToFiles(redis, ${JSON.stringify(folder)}, ${day}).catch(({ code }) => console.log(code));
      redis.disconnect();`;
    // A limit on the size of files stands for the full disk.
    const limited = `trap '' XFSZ; ulimit -f 1; exec "$0" --input-type=module -e "$1" | cat`;
    const said = await promisify(execFile)("bash", ["-c", limited, process.execPath, program]);
    expect(said.stdout).toBe("EFBIG\n");
    expect(await verify()).toMatchObject({ kind: "whole" });
  });

  test("never takes the place of another log's file", async () => {
    await open(redis, () => 5).append(asked("1"));
    await moveToFiles(redis, folder, day);
    await redis.flushall();
    await open(redis, () => 5).append(asked("another"));
    await expect(moveToFiles(redis, folder, day)).rejects.toThrow(/another one than in/);
    expect(await readFile(join(folder, "000000000001.jsonl"), "utf8")).toContain('"message":"1"');
  });

  test("is read by one at a time, so that nothing moves meanwhile", async () => {
    await withAuditLock(redis, async () => {
      await expect(moveToFiles(redis, folder, day)).rejects.toThrow(AuditBusy);
    });
    expect(await moveToFiles(redis, folder, day)).toBe(0);
  });

  test("is held for a minute by somebody who died, and for as long as it takes by somebody who reads", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    await withAuditLock(redis, async () => {
      expect(await redis.ttl(keys.auditHeld)).toBeLessThanOrEqual(60);
      await redis.expire(keys.auditHeld, 5);
      vi.advanceTimersByTime(20_000);
      expect(await redis.ttl(keys.auditHeld)).toBeGreaterThan(5);
    });
    expect(vi.getTimerCount()).toBe(0);
  });

  test("refuses the fact when Redis takes no writes and the log is required", async () => {
    const log = openAuditLog(redis, Date.now, () => undefined, { required: true });
    await redis.set(keys.auditHead, "not a hash");
    await expect(log.append(asked("1"))).rejects.toThrow(/WRONGTYPE/);
  });

  test("has what people did as soon as Redis takes writes again", async () => {
    const problems: string[] = [];
    const log = openAuditLog(redis, Date.now, (problem) => problems.push(problem));
    const author = { ...by, standing: "member" as const, roles: [] };
    const place = { platform: "memory", workspace: "w", channel: "c" };
    const intake = auditObserver({ log, mask: (text) => text }).intake?.({
      receive: async () => ({ kind: "accepted", thread: "memory:w:c:t", position: 0 }),
    });
    await redis.set(keys.auditHead, "not a hash");
    const result = await intake?.receive({
      ...{ kind: "message", thread: { ...place, thread: "t" }, ref: { ...place, message: "1" }, author },
      ...{ text: "Hello", attachments: [], addressed: "mention", at: 1 },
    });
    // The message is in the mailbox: the platform must not send it again.
    expect(result).toMatchObject({ kind: "accepted" });
    expect(problems).toEqual(["The audit log could not be written."]);
    await redis.del(keys.auditHead);
    await log.close();
    expect((await verify()).messages).toEqual(["1"]);
  });
});

describe("heddle audit verify finds", () => {
  const lines: string[] = [];
  let head = genesis;
  for (let n = 1; n <= 12; n += 1) {
    const next = appendLink(head, asked(`message ${n}`), n);
    lines.push(next.line);
    head = next.link;
  }
  /** The log as somebody left it: in a file, with Redis knowing only the head. */
  const leave = async (left: readonly string[], noted: Link | undefined = head) => {
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "000000000001.jsonl"), left.map((line) => `${line}\n`).join(""));
    if (noted) await redis.hset(keys.auditHead, noted);
  };
  const index = fc.nat(lines.length - 1);

  test("nothing in a log that nobody has touched", async () => {
    await leave(lines);
    expect(await verify()).toMatchObject({ kind: "whole", link: head });
  });

  test("any change of a character that changes what is said", async (context) => {
    countAttacks(context, 150);
    const change = fc.tuple(index, fc.nat(), fc.constantFrom(...'0aA}" ,:'));
    await fc.assert(
      fc.asyncProperty(change, async ([at, place, character]) => {
        const line = lines[at] ?? "";
        const where = place % line.length;
        const changed = line.slice(0, where) + character + line.slice(where + 1);
        fc.pre(!saysTheSame(changed, line));
        await leave(lines.with(at, changed));
        expect(await verify()).toMatchObject({ kind: "fault", link: { n: at } });
      }),
      { numRuns: 150 },
    );
  });

  test("any removal, also at the end", async (context) => {
    countAttacks(context, 60);
    const removal = fc.tuple(index, fc.integer({ min: 1, max: 4 }));
    await fc.assert(
      fc.asyncProperty(removal, async ([at, length]) => {
        await leave(lines.toSpliced(at, length));
        expect(await verify()).toMatchObject({ kind: "fault", link: { n: at } });
      }),
      { numRuns: 60 },
    );
  });

  test("any other order and any repetition", async (context) => {
    countAttacks(context, 120);
    await fc.assert(
      fc.asyncProperty(index, index, async (from, to) => {
        fc.pre(from !== to);
        const [a, b] = [lines[from] ?? "", lines[to] ?? ""];
        await leave(lines.with(from, b).with(to, a));
        expect(await verify()).toMatchObject({ kind: "fault", link: { n: Math.min(from, to) } });
        await leave(lines.toSpliced(to, 0, a));
        expect(await verify()).toMatchObject({ kind: "fault" });
      }),
      { numRuns: 60 },
    );
  });

  test("a log that was made anew with all hashes right, by a head that was noted elsewhere", async () => {
    const noted = head;
    const forged: string[] = [];
    let last = genesis;
    for (let n = 1; n <= 12; n += 1) {
      const next = appendLink(last, asked(n === 3 ? "another" : `message ${n}`), n);
      forged.push(next.line);
      last = next.link;
    }
    await leave(forged, last);
    expect(await verify()).toMatchObject({ kind: "whole" });
    expect(await verify(noted)).toMatchObject({ kind: "fault", fault: expect.stringMatching(/made anew/) });
    await leave(forged.slice(0, 5), genesis);
    expect(await verify(noted)).toMatchObject({ fault: "The log ends with entry 5, but it had 12." });
  });

  test("a file that was removed", async () => {
    const log = open(redis, () => 5);
    await log.append(asked("1"));
    await moveToFiles(redis, folder, day);
    await log.append(asked("2"));
    const [file = ""] = await readdir(folder);
    expect(await readFile(join(folder, file), "utf8")).toContain('"message":"1"');
    await rm(join(folder, file));
    expect(await verify()).toMatchObject({ kind: "fault", fault: expect.stringMatching(/some are missing/) });
  });
});

function saysTheSame(a: string, b: string): boolean {
  try {
    return JSON.stringify(JSON.parse(a)) === JSON.stringify(JSON.parse(b));
  } catch {
    return false;
  }
}

const silent: TurnDisplay = {
  took() {},
  event() {},
  question: () => ({ kind: "question", markdown: "" }),
  settled: () => ({ kind: "question", markdown: "" }),
  continued: () => ({ kind: "notice", markdown: "" }),
  waiting: () => ({}),
  closing: () => ({}),
  interrupted: async () => undefined,
  close: async () => false,
  ended() {},
};

describe("What is written", () => {
  const thread = "memory:w:c:t";
  const common = {
    thread: { platform: "memory", workspace: "w", channel: "c", thread: "t" },
    ref: { platform: "memory", workspace: "w", channel: "c", message: "m1" },
    author: { ...by, standing: "member" as const, roles: [] },
    at: 1,
  };
  const message = {
    kind: "message",
    ...common,
    text: "the text",
    attachments: [],
    addressed: "mention",
  } as const;

  test("is who asked, edited, pressed, stopped and was refused, and never a text", () => {
    const said: InboundEvent = { ...message, attachments: [] };
    const { author, ref } = common;
    const facts = [
      toInboundFact(said, { kind: "accepted", thread, position: 0 }),
      toInboundFact(said, { kind: "refused", reply: "no" }),
      toInboundFact(said, { kind: "duplicate" }),
      toInboundFact({ ...said, text: "stop" }, { kind: "stopping", thread }),
      toInboundFact({ ...said, text: "/quiet" }, { kind: "acted", thread }),
      toInboundFact({ kind: "edit", ...common, text: "new" }, { kind: "amended", thread }),
      toInboundFact({ kind: "delete", ...common }, { kind: "stopping", thread }),
      toInboundFact({ kind: "action", ...common, action: "approve:1" }, { kind: "acted", thread }),
      toInboundFact({ kind: "stop", target: { message: ref }, author, at: 1 }, { kind: "stopping", thread }),
    ];
    expect(facts.map((fact) => fact?.what)).toEqual([
      "asked",
      "refused",
      undefined,
      "stopped",
      "ordered",
      "edited",
      "deleted",
      "pressed",
      "stopped",
    ]);
    expect(JSON.stringify(facts)).not.toMatch(/the text|new/);
    const { platform, workspace } = ref;
    expect(facts[1]).toMatchObject({ workspace: `${platform}:${workspace}` });
  });

  test("is who planned and cancelled a task, who let a turn go on, and what nobody has decided", async () => {
    const ada = { ...by, standing: "member" as const, roles: ["admin"] };
    expect(toAuditFact({ action: "schedule-cancelled", thread, schedule: "s1", by: ada })).toEqual({
      ...{ what: "schedule-cancelled", thread, schedule: "s1", by },
    });
    expect(
      toAuditFact({ action: "continued", thread, turn: "t1", by: ada, budget: "2026-06-01 all" }),
    ).toEqual({
      ...{ what: "continued", thread, turn: "t1", by, budget: "2026-06-01 all" },
    });
    const facts: AuditFact[] = [];
    const display = auditObserver({ log: keptIn(facts), mask: (text) => text }).display?.(silent, thread, {
      id: "t1",
      startedAt: 1,
      resumed: false,
      progress: undefined,
      calls: [],
    });
    const question = { id: "q1", callId: "c1", tool: "bash", requester: by, askedAt: 1, expiresAt: 2 };
    const asks = { ...question, kind: "approval", why: "" } as const;
    const call = { id: "c1", name: "bash", input: {} };
    display?.settled(asks, call, { kind: "approved", by, at: 1 });
    display?.settled(asks, call, { kind: "expired", at: 2 });
    expect(facts).toEqual([
      { what: "decided", thread, question: "q1", tool: "bash", decision: "expired", by: heddle },
    ]);
  });

  test("is how a turn has ended, which models replied in it, and what it has cost", () => {
    const facts: AuditFact[] = [];
    const display = auditObserver({ log: keptIn(facts), mask: (text) => text }).display?.(
      noDisplay,
      thread,
      newTurn,
    );
    const author = { ...by, standing: "member" as const, roles: [] };
    display?.took([{ role: "user", id: "m1", author, text: "the text", at: 1 }]);
    const reply = (step: number, model: string) =>
      ({
        type: "assistant",
        ...{ step, usage: noUsage },
        message: { role: "assistant", id: `a${step}`, parts: [] as [], model, stop: "end" },
      }) as const;
    display?.event(reply(1, "a/large"));
    display?.event({ type: "helper", callId: "1", event: reply(1, "a/small") });
    display?.event(reply(2, "a/large"));
    const usage = { ...noUsage, cost: 0.1 + 0.2 };
    const outcome = { kind: "answered", text: "the text", steps: 2, usage } as const;
    display?.closing({ outcome, durationMs: 1, withdrawn: [] });
    expect(facts[1]).toEqual({
      ...{ what: "turn-ended", thread, turn: "t1", outcome: "answered", steps: 2 },
      ...{ models: ["a/large", "a/small"], cost: 0.3 },
    });
  });

  test("is a tool's arguments, masked and in short, with a digest of all of them", () => {
    const call: ToolCall = {
      id: "1",
      name: "bash",
      input: { command: `echo secret-value ${"x".repeat(500)}` },
    };
    const shown = maskArguments(call, (text) => text.replaceAll("secret-value", "[masked]"));
    expect(shown.arguments).toMatch(/^\{"command":"echo \[masked\] x+…$/);
    expect(shown.arguments.length).toBe(300);
    expect(shown.sha256).toMatch(/^[0-9a-f]{64}$/);
  });

  test.each([
    ["exit code 3\nno such file", {}, { status: "error", exitCode: 3 }],
    ["exit code 139 (signal 11)\n", {}, { status: "error", exitCode: 139 }],
    ["exit code 0\nfine", {}, { status: "ok" }],
    ["DENIED by Ada", { status: "error", notRun: "denied" }, { status: "denied" }],
    ["Nobody answered", { status: "error", notRun: "undecided" }, { status: "undecided" }],
  ] as const)("tells of a command that ended with %j how people see it", (text, how, told) => {
    const ended = { role: "tool", callId: "1", name: "bash", status: "ok", text, ...how } as const;
    expect(describeCallEnd(ended)).toEqual(told);
  });

  test("is a helper's call too, before its tool runs, under the call that it is made in", async () => {
    const facts: AuditFact[] = [];
    const observer = auditObserver({ log: keptIn(facts), mask: (text) => text });
    const call = { id: "2", name: "bash", input: {} };
    const start: AgentEvent = { type: "helper", callId: "1", event: { type: "tool-start", step: 1, call } };
    const result = { role: "tool", callId: "2", name: "bash", status: "ok", text: "" } as const;
    const end: AgentEvent = {
      ...{ type: "helper", callId: "1" },
      event: { type: "tool-end", step: 1, message: result, durationMs: 5 },
    };
    const runner = observer.runner?.({
      // oxlint-disable-next-line require-yield -- it only emits
      async *run({ emit }) {
        await emit(start);
        expect(facts).toHaveLength(1);
        await emit(end);
        return { kind: "answered", text: "", steps: 1, usage: noUsage };
      },
      killAll: async () => ({ commands: 0, processes: 0, survivors: 0 }),
      jobsLeft: () => undefined,
      fileChanges: async () => noChanges,
      forgetTurn() {},
    });
    const display = observer.display?.(noDisplay, thread, newTurn);
    await runner
      ?.run({
        ...{
          thread,
          turn: "t1",
          claim: { created: 0, epoch: 1 },
          chosen: {},
          areApproved: async () => false,
          history: { messages: [], open: [], turn: undefined },
        },
        followUps: async () => [],
        store: async () => undefined,
        emit: (event) => display?.event(event),
        signal: new AbortController().signal,
      })
      .next();
    expect(facts).toMatchObject([
      { what: "tool-began", call: "1/2", tool: "bash" },
      { what: "tool-ended", call: "1/2", tool: "bash", status: "ok", ms: 5 },
    ]);
  });

  test("is there before a tool runs, and a tool does not run when it cannot be", async () => {
    const order: string[] = [];
    let release: ((error?: Error) => void) | undefined;
    const log: AuditLog = {
      append: (fact) =>
        new Promise((resolve, reject) => {
          order.push(fact.what);
          release = (error) => (error ? reject(error) : resolve());
        }),
      note: async () => undefined,
      close: async () => undefined,
    };
    const { runner: wrap } = auditObserver({ log, mask: (text) => text });
    if (!wrap) throw new Error("The audit log does not look at the runner.");
    const runner = wrap({
      async *run() {
        const start: AgentEvent = { type: "tool-start", step: 1, call: { id: "1", name: "bash", input: {} } };
        yield start;
        order.push("the tool runs");
        yield start;
        order.push("the tool runs again");
        return { kind: "answered", text: "", steps: 1, usage: noUsage };
      },
      killAll: async () => ({ commands: 0, processes: 0, survivors: 0 }),
      jobsLeft: () => undefined,
      fileChanges: async () => noChanges,
      forgetTurn() {},
    });
    const events = runner.run({
      thread,
      turn: "t1",
      claim: { created: 0, epoch: 1 },
      chosen: {},
      areApproved: async () => false,
      history: { messages: [], open: [], turn: undefined },
      followUps: async () => [],
      store: async () => undefined,
      emit: () => undefined,
      signal: new AbortController().signal,
    });
    await events.next();
    const second = events.next();
    expect(order).toEqual(["tool-began"]);
    release?.();
    await second;
    release?.(new Error("no"));
    await expect(events.next()).rejects.toThrow("no");
    expect(order).toEqual(["tool-began", "the tool runs", "tool-began"]);
    expect(await readAuditHead(redis)).toEqual(genesis);
  });
});

describe("The newest entries", () => {
  test("come page by page across Redis and the files of past days", async () => {
    let now = Date.now() - 3 * day;
    const log = open(redis, () => now);
    for (let n = 1; n <= 9; n++) {
      await log.append(asked(String(n)));
      if (n % 3 === 0) {
        await moveToFiles(redis, folder, Date.now());
        now += day;
      }
    }
    await log.append(asked("10"));
    expect((await readdir(folder)).length).toBe(3);
    const numbers = async (before: number, limit: number) =>
      (await readLatestEntries(redis, folder, before, limit)).entries.map(({ n }) => n);
    expect(await numbers(Number.MAX_SAFE_INTEGER, 3)).toEqual([10, 9, 8]);
    expect(await numbers(8, 5)).toEqual([7, 6, 5, 4, 3]);
    expect(await numbers(3, 5)).toEqual([2, 1]);
    expect(await numbers(1, 5)).toEqual([]);
  });

  test("are all there behind what is no entry, in Redis and in the files", async () => {
    let now = Date.now() - day;
    const log = openAuditLog(
      redis,
      () => now,
      (problem) => expect(problem).toContain("not what Heddle has written"),
    );
    await log.append(asked("1"));
    await log.append(asked("2"));
    await redis.xadd(keys.audit, "3-0", "entry", "no entry");
    const threads = { titles: async () => new Map<string, string>() };
    const source = { redis, folder, mask: (text: string) => text, threads, mayRead: () => true };
    const page = async () => {
      const { lines, before } = await reportAudit(source, {});
      return { numbers: lines.map(({ n }) => n), before };
    };
    now = Date.now();
    for (let n = 4; n <= 104; n++) await log.append(asked(String(n)));
    // The process that has found it says so in entry 4.
    const newest = Array.from({ length: 100 }, (_, index) => 105 - index);
    expect(await page()).toEqual({ numbers: newest, before: 6 });
    await redis.xadd(keys.audit, "106-0", "entry", "no entry");
    expect(await page()).toEqual({ numbers: newest, before: 6 });
    await moveToFiles(redis, folder, now + day);
    expect(await page()).toEqual({ numbers: newest, before: 6 });
    const { lines } = await reportAudit(source, { before: 6 });
    expect(lines.map(({ n }) => n)).toEqual([5, 4, 2, 1]);
  });
});
