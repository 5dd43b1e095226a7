import { randomUUID } from "node:crypto";
import { readFileSync, rmSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { Redis } from "ioredis";
import type { ModelRequest } from "../../../src/agent/model.ts";
import { allowAll } from "../../../src/agent/policy/policy.ts";
import { createMasker } from "../../../src/agent/secrets/mask-secrets.ts";
import { createAgentRunner } from "../../../src/app/turns/agent-runner.ts";
import { createTurnEngine, createTurnOutput } from "../../../src/app/turns/turn-engine.ts";
import { createRateLimiter } from "../../../src/queue/outbox/rate-limit.ts";
import { keys } from "../../../src/queue/redis/keys.ts";
import { createJournalReader } from "../../../src/queue/session/journal/journal.ts";
import { claimSession } from "../../../src/queue/session/claim.ts";
import { LeaseLost } from "../../../src/queue/session/lease.ts";
import { deleteSession } from "../../../src/queue/session/manage-session.ts";
import { deliver } from "../../../src/queue/session/mailbox/mailbox.ts";
import { createJobReports } from "../../../src/queue/turns/background-jobs.ts";
import { noChanges, type TurnRunner } from "../../../src/queue/turns/contracts.ts";
import { createAfterStop } from "../../../src/queue/turns/end-unheld-thread.ts";
import type { SessionRunResult } from "../../../src/queue/turns/turn-worker.ts";
import { openTurnQueue } from "../../../src/queue/turns/wake-queue.ts";
import { orderStop, watchStops } from "../../../src/queue/turns/stops.ts";
import { createBubblewrapBackend } from "../../../src/sandbox/bubblewrap/backend.ts";
import { defaultFence, type FenceTimes } from "../../../src/sandbox/running/fence.ts";
import { createLog } from "../../../src/telemetry/log.ts";
import { memoryNotes } from "../../agent/tools/services.ts";
import { processesWith } from "../../e2e/processes.ts";
import { memoryChat } from "../../fakes/memory-chat.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";
import { type Reply, scriptedModel } from "../../fakes/scripted-model.ts";
import { startSilentRelay } from "../../fakes/silent-relay.ts";
import { plainMessageExtras } from "../../message-extras/plain.ts";
import { dataFolder, uniqueSeconds } from "../../sandbox/two-threads.ts";
import { plainPool } from "../../agent/mcp/plain-pool.ts";

let server: TestRedis;
const chat = memoryChat();
/** The worker where jobs are started, and another one. */
let owner: Awaited<ReturnType<typeof worker>>;
let other: Awaited<ReturnType<typeof worker>>;
beforeAll(async () => {
  server = await startRedis();
  [owner, other] = await Promise.all([worker(), worker()]);
});
afterAll(async () => {
  await Promise.all([owner.close(), other.close()]);
  await server.stop();
});

/** `remove old` deletes a file, `serve 5` starts a job of two processes, `run 5` a command, `ask` asks people; what follows is for the next step. */
function reply({ messages }: ModelRequest): Reply {
  const asked = messages.findLastIndex((message) => message.role === "user");
  const message = messages[asked];
  const steps = messages.slice(asked).filter(({ role }) => role === "assistant").length;
  const task = message?.role === "user" ? (message.text.split(", ")[steps] ?? "") : "";
  const [verb, seconds] = task.split(" ");
  const bash = (command: string, run_in_background = false) => ({
    calls: [{ name: "bash", input: { command, run_in_background } }],
  });
  switch (verb) {
    case "serve":
      return bash(`sleep ${seconds} & echo up; wait`, true);
    // One file says that it is old.
    case "write":
      return bash("touch new old; touch -d 2001-01-01 old");
    case "remove":
      return bash(`rm ${seconds}`);
    case "run":
      return bash(`echo up; sleep ${seconds}`);
    case "ask":
      return { calls: [{ name: "ask_user", input: { question: "Which?", choices: ["Red", "Blue"] } }] };
    default:
      return { text: "Done." };
  }
}

/** A worker of a host of its own, which takes turns when the test says so, and has patience with others. */
async function worker({
  answerMs = 25_000,
  dataDir = dataFolder(),
  fence = defaultFence,
  client = server.client,
  ...more
}: Partial<TurnRunner> & {
  answerMs?: number;
  dataDir?: string;
  fence?: FenceTimes;
  client?: () => Redis;
} = {}) {
  const redis = client();
  const woken: string[] = [];
  const onError = (error: unknown) => {
    // Whom another worker has overtaken may hear of it while it posts.
    if (!(error instanceof LeaseLost)) throw error;
  };
  const onProblem = (_problem: string, error: unknown) => onError(error);
  const { model } = scriptedModel(reply);
  const backend = createBubblewrapBackend({ dataDir, fence });
  await backend.probe();
  const probe = { ok: true, summary: "", problems: [], missing: [] };
  const masker = createMasker([]);
  const surface = () => chat.surface;
  const runner: TurnRunner = {
    ...createAgentRunner({
      choose: () => model,
      channel: () => ({}),
      messageExtras: plainMessageExtras(),
      summariser: model,
      limits: { steps: 5, wallMs: 60_000 },
      compaction: {},
      budgets: { turnBudget: () => ({ reserve: async () => ({ ok: true, settle: async () => {} }) }) },
      policy: allowAll,
      questionMs: 60_000,
      instructions: "",
      sandbox: { backend, probe: async () => probe, refresh: async () => probe },
      notes: memoryNotes,
      journal: (thread) => createJournalReader(redis, thread),
      surface,
      skills: { current: async () => ({ skills: [], problems: [] }), mounts: () => [] },
      mcp: plainPool(),
      masker,
      log: createLog("silent", masker, { terminal: false }),
    }),
    ...more,
  };
  const engine = await createTurnEngine({
    ...{ redis, runner, surface, answerMs, fence, onProblem, onError },
    processes: backend.processes,
    subscriber: client(),
    output: createRateLimiter(redis),
    expireSeconds: 1_000,
    confirmMs: 200,
    wake: async (thread) => void woken.push(thread),
  });
  return {
    woken,
    /** As its job does: again and again while another worker is at it. */
    async takes(thread: string): Promise<SessionRunResult> {
      for (;;) {
        const result = await engine.runSession(thread, new AbortController().signal);
        if (result !== "held") return result;
        await setTimeout(20);
      }
    },
    async close() {
      await backend.close();
      await engine.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** A worker of another host whose network can be cut and comes back. */
async function farWorker() {
  const relay = await startSilentRelay({ path: server.path });
  const client = () => {
    const redis = new Redis({ port: relay.port, maxRetriesPerRequest: null });
    redis.on("error", () => undefined);
    onTestFinished(() => redis.disconnect());
    return redis;
  };
  const far = await worker({ client });
  onTestFinished(async () => {
    await far.close();
    await relay.close();
  });
  return { ...far, relay };
}

const commandsWith = (word: string, pattern: RegExp) =>
  processesWith(word).filter((pid) => pattern.test(readFileSync(`/proc/${pid}/cmdline`, "utf8")));

/** The machine may be busy. */
const patience = { timeout: 20_000, interval: 10 };

function createJobThread() {
  const thread = `memory:w:c:${randomUUID().slice(0, 8)}`;
  const before = chat.shown.length;
  const redis = server.client();
  const author = { id: "U1", name: "Ada" };
  const seconds = uniqueSeconds();
  return {
    thread,
    redis,
    seconds,
    alive: () => processesWith(seconds).length,
    says: (text: string, at: number) =>
      deliver(
        redis,
        thread,
        { role: "user", id: `${thread}-${at}`, author, text, at },
        { onlyIfSession: false, now: Date.now() },
      ),
    stops: (at: number) => orderStop(redis, thread, { by: "Bob", at }),
    shown: () => chat.shown.slice(before).map(({ message }) => message),
    receipts: () =>
      chat.shown
        .slice(before)
        .filter(({ message }) => message.kind === "receipt")
        .map(({ message }) => message.markdown),
  };
}

describe("A stop with no turn running", () => {
  test("that another worker takes ends the thread's background jobs where they run, and tells their number", async () => {
    const { thread, says, stops, receipts, seconds, alive } = createJobThread();
    await says(`serve ${seconds}`, 10);
    await owner.takes(thread);
    expect(alive()).toBeGreaterThan(0);

    expect(await stops(20)).toBe("ordered");
    await other.takes(thread);

    expect(alive()).toBe(0);
    const receipt =
      /^🛑 \*\*Stopped by Bob\*\* in \d+ m?s\. 1 command ended \(\d process(es)?\), 0 left alive\.$/;
    expect(receipts()).toEqual([expect.stringMatching(receipt)]);
    await other.takes(thread);
    await owner.takes(thread);
    expect(receipts()).toHaveLength(1);
    expect(await stops(30)).toBe("nothing");
  });

  test("that the worker with the jobs takes itself counts them once", async () => {
    const { thread, says, stops, receipts, seconds, alive } = createJobThread();
    await says(`serve ${seconds}`, 10);
    await owner.takes(thread);
    await stops(20);
    await owner.takes(thread);
    expect(alive()).toBe(0);
    expect(receipts()).toEqual([expect.stringContaining("1 command ended")]);
  });

  test("finds nothing once the jobs have ended by themselves", async () => {
    const { thread, redis, says, stops } = createJobThread();
    await says("serve 0.2", 10);
    await owner.takes(thread);
    await expect.poll(() => redis.exists(keys.jobs(thread)), patience).toBe(0);
    expect(await stops(20)).toBe("nothing");
  });

  test("leaves jobs alone that were asked for after it", async () => {
    const { thread, says, stops, receipts, seconds, alive } = createJobThread();
    await says(`serve ${seconds}`, 10);
    await owner.takes(thread);
    await stops(5);
    await owner.takes(thread);
    expect(receipts()).toEqual([]);
    expect(alive()).toBeGreaterThan(0);
  });

  test("says so when a worker with jobs does not answer", async () => {
    const { thread, redis, says, stops, receipts } = createJobThread();
    const hasty = await worker({ answerMs: 50 });
    await says("hi", 10);
    await hasty.takes(thread);
    await redis.hset(keys.jobs(thread), "a worker that was killed", 10);
    await stops(20);
    await hasty.takes(thread);
    expect(receipts()).toEqual([
      expect.stringMatching(/on an earlier worker, which does not answer: not known to have ended/),
    ]);
    expect(await stops(30)).toBe("nothing");
    await hasty.close();
  });

  test("ends by sight the jobs of a worker of the same host that does not answer", async () => {
    const { thread, says, stops, receipts, seconds, alive } = createJobThread();
    const dataDir = dataFolder();
    const silent = await worker({ dataDir, killAll: () => new Promise(() => {}) });
    const beside = await worker({ dataDir, answerMs: 50 });
    onTestFinished(() => Promise.all([beside.close(), silent.close()]).then(() => undefined));
    await says(`serve ${seconds}`, 10);
    await silent.takes(thread);
    expect(alive()).toBeGreaterThan(0);
    await stops(20);
    await beside.takes(thread);
    expect(alive()).toBe(0);
    expect(receipts()).toEqual([
      expect.stringMatching(/1 command ended \(\d process(es)?\), 0 left alive\.$/),
    ]);
  });

  test("says what it does not know of jobs elsewhere, and once when the clock has ended them", async () => {
    const { thread, redis, says, stops, shown, receipts, seconds, alive } = createJobThread();
    const fence = { turnMs: 1_000, jobMs: 1_000 };
    const silent = await worker({ fence, killAll: () => new Promise(() => {}) });
    const hasty = await worker({ answerMs: 50 });
    onTestFinished(() => Promise.all([hasty.close(), silent.close()]).then(() => undefined));
    await says(`serve ${seconds}`, 10);
    await silent.takes(thread);
    await stops(20);
    await hasty.takes(thread);
    expect(receipts()).toEqual([expect.stringMatching(/not known to have ended \(`background jobs`\)/)]);
    const told = () => shown().filter(({ markdown }) => markdown.includes("has ended:"));
    expect(told()).toEqual([]);
    // Until the clock says so, the sweeper has it; its own clock is not the one that counts.
    expect(Number(await redis.zscore(keys.waiting, thread))).toBeGreaterThan(Date.now());
    await expect.poll(async () => (await hasty.takes(thread), told().length), { timeout: 30_000 }).toBe(1);
    expect(alive()).toBe(0);
    await hasty.takes(thread);
    expect(told()).toHaveLength(1);
  }, 60_000);
});

test("Deleting a thread ends its background jobs where they run, of which a new thread there is told nothing", async () => {
  const { thread, redis, says, receipts, seconds, alive } = createJobThread();
  await says(`serve ${seconds}`, 10);
  await owner.takes(thread);
  expect(alive()).toBeGreaterThan(0);
  expect(await deleteSession(redis, thread, Date.now())).toBe(true);
  await expect.poll(alive, patience).toBe(0);
  // Its files can go only where nothing is counted as running, which is told behind the last process.
  await expect.poll(() => redis.keys(`heddle:{${thread}}:*`), patience).toEqual([keys.stop(thread)]);
  await says("hi", 20);
  await other.takes(thread);
  expect(receipts()).toEqual([]);
});

describe("A worker that comes back after others have told that they do not know", () => {
  test("reports at once that its command has ended, and people are told once", async () => {
    const { thread, redis, says, stops, shown, receipts, seconds, alive } = createJobThread();
    const [far, hasty] = await Promise.all([farWorker(), worker({ answerMs: 50 })]);
    onTestFinished(() => hasty.close());
    const next = uniqueSeconds();
    await says(`run ${seconds}, run ${next}`, 10);
    const cutOff = far.takes(thread);
    await expect.poll(alive, patience).toBeGreaterThan(0);
    far.relay.hold();
    const goesOn = hasty.takes(thread);
    await expect.poll(() => processesWith(next).length, patience).toBeGreaterThan(0);
    await stops(20);
    await goesOn;
    expect(receipts()).toEqual([expect.stringMatching(/not known to have ended/)]);

    far.relay.release();
    expect(await cutOff).toBe("lost");
    expect([alive(), far.woken]).toEqual([0, [thread]]);
    expect(Number(await redis.zscore(keys.waiting, thread))).toBeLessThanOrEqual(Date.now());
    for (let times = 0; times < 2; times += 1) await hasty.takes(thread);
    const told = shown().filter(({ markdown }) => markdown.includes("has ended:"));
    expect(told.map(({ markdown }) => markdown)).toEqual([expect.stringContaining(`sleep ${seconds}`)]);
    expect(Object.keys(await redis.hgetall(keys.head(thread))).filter(isAboutEnds)).toEqual([]);
  });

  test("reports at once that its background jobs have ended, and not as another stop", async () => {
    const { thread, redis, says, stops, shown, receipts, seconds, alive } = createJobThread();
    const [far, hasty] = await Promise.all([farWorker(), worker({ answerMs: 50 })]);
    onTestFinished(() => hasty.close());
    await says(`serve ${seconds}`, 10);
    await far.takes(thread);
    far.relay.hold();
    await stops(20);
    await hasty.takes(thread);
    expect(receipts()).toEqual([expect.stringMatching(/not known to have ended/)]);
    expect(alive()).toBeGreaterThan(0);

    far.relay.release();
    await expect.poll(() => far.woken, patience).toEqual([thread]);
    expect(alive()).toBe(0);
    for (let times = 0; times < 2; times += 1) await hasty.takes(thread);
    expect(shown().filter(({ markdown }) => markdown.includes("has ended:"))).toHaveLength(1);
    expect(receipts()).toHaveLength(1);
    expect(Object.keys(await redis.hgetall(keys.head(thread))).filter(isAboutEnds)).toEqual([]);
  });
});

const isAboutEnds = (field: string) => /^(lost|ended):/.test(field);

describe("A stop in a thread in which only background jobs run", () => {
  /** What the process does that has recorded the stop, without any worker that takes turns. */
  async function recorder(answerMs: number) {
    const redis = server.client();
    const queue = openTurnQueue(redis);
    const onError = (error: unknown) => {
      throw error;
    };
    const watch = await watchStops(redis, server.client(), onError);
    onTestFinished(async () => {
      await watch.close();
      await queue.close();
    });
    const afterStop = createAfterStop({
      ...createTurnOutput({
        ...{ redis, output: createRateLimiter(redis), surface: () => chat.surface, onError },
        onProblem: (_problem, error) => onError(error),
      }),
      ...{ redis, queue, expireSeconds: 1_000 },
      background: createJobReports({ redis, stops: watch, answerMs }),
    });
    return {
      queue,
      tells: async (thread: string) => {
        await (await afterStop(thread, new AbortController().signal)).rest;
      },
    };
  }

  test("is told by whoever has recorded it, without a worker that has room", async () => {
    const { thread, redis, says, stops, receipts, seconds, alive } = createJobThread();
    const { tells, queue } = await recorder(25_000);
    await says(`serve ${seconds}`, 10);
    await owner.takes(thread);
    await stops(20);
    await tells(thread);
    expect(alive()).toBe(0);
    expect(receipts()).toEqual([
      expect.stringMatching(/1 command ended \(\d process(es)?\), 0 left alive\.$/),
    ]);
    expect((await queue.depth()).waiting).toBe(0);
    expect(await redis.zscore(keys.waiting, thread)).toBeNull();
  });

  test("is left to a worker, which may see them, where those with the jobs do not answer", async () => {
    const { thread, redis, says, stops, receipts } = createJobThread();
    const { tells, queue } = await recorder(50);
    await says("hi", 10);
    await owner.takes(thread);
    await redis.hset(keys.jobs(thread), "a worker that was killed", 10);
    await stops(20);
    await tells(thread);
    expect(receipts()).toEqual([]);
    expect((await queue.depth()).waiting).toBe(1);
  });
});

test("The receipt names the files that a turn has deleted", async () => {
  const { thread, says, shown } = createJobThread();
  for (const [index, task] of ["write", "remove old"].entries()) {
    await says(task, index);
    await owner.takes(thread);
  }
  const answers = shown().filter(({ kind }) => kind === "answer");
  expect(answers.map(({ footer }) => footer?.replace(/.*(?=file)/, ""))).toEqual([
    "files changed: new, old",
    "file deleted: old",
  ]);
});

describe("A stop of a turn", () => {
  test("is told with figures that are true", async () => {
    const { thread, redis, says, stops, shown, seconds, alive } = createJobThread();
    await says(`write, serve ${seconds}, run ${seconds}`, 10);
    const turn = owner.takes(thread);
    await expect.poll(() => commandsWith(seconds, /^sleep/).length, patience).toBe(2);
    // bwrap itself is ours.
    const truth = commandsWith(seconds, /^(?!bwrap)/).length;
    await says("more", 20);
    const began = Date.now();
    await stops(30);
    await turn;
    expect([alive(), await redis.llen(keys.mail(thread))]).toEqual([0, 0]);
    const took = Date.now() - began;
    const receipt = shown().find(({ kind }) => kind === "receipt");
    const [, said = "", unit] = / in (\d+) (m?s)\./.exec(receipt?.markdown ?? "") ?? [];
    expect(Number(said) * (unit === "s" ? 1_000 : 1)).toBeLessThanOrEqual(took + 500);
    const figures = `2 commands ended (${truth} processes), 0 left alive. 1 waiting message dropped.`;
    expect(receipt?.markdown).toContain(figures);
    expect(receipt?.footer).toMatch(/files changed: new, old$/);
  });

  test("ends the background jobs that other workers have of the thread, and counts all of them", async () => {
    const { thread, says, stops, receipts, seconds, alive } = createJobThread();
    await says(`serve ${seconds}`, 10);
    await owner.takes(thread);
    await says(`run ${seconds}`, 20);
    const turn = other.takes(thread);
    await expect.poll(() => commandsWith(seconds, /^sleep/).length, patience).toBe(2);
    await stops(30);
    await turn;
    expect(alive()).toBe(0);
    expect(receipts()).toEqual([expect.stringMatching(/2 commands ended \(\d processes\), 0 left alive/)]);
  });

  test("ends also what the same worker has left of an earlier turn, and counts it once", async () => {
    const { thread, says, stops, receipts, seconds, alive } = createJobThread();
    await says(`serve ${seconds}`, 10);
    await owner.takes(thread);
    await says(`run ${seconds}`, 20);
    const turn = owner.takes(thread);
    await expect.poll(() => commandsWith(seconds, /^sleep/).length, patience).toBe(2);
    await stops(30);
    await turn;
    expect(alive()).toBe(0);
    expect(receipts()).toEqual([expect.stringContaining("2 commands ended")]);
  });

  test("tells what other workers have ended also when its own worker dies before it could", async () => {
    const { thread, redis, says, stops, receipts, seconds, alive } = createJobThread();
    const firstWorker = await worker({
      async fileChanges() {
        await claimSession(redis, thread);
        return noChanges;
      },
    });
    onTestFinished(() => firstWorker.close());
    await says(`serve ${seconds}`, 10);
    await owner.takes(thread);
    await says(`run ${seconds}`, 20);
    const turn = firstWorker.takes(thread);
    await expect.poll(() => commandsWith(seconds, /^sleep/).length, patience).toBe(2);
    await stops(30);
    expect(await turn).toBe("lost");
    await other.takes(thread);
    expect(alive()).toBe(0);
    expect(receipts()).toEqual([expect.stringMatching(/1 command ended \(\d process(es)?\), 0 left alive/)]);
  });

  test("that waits for people reaches the jobs of the worker that asked them", async () => {
    const { thread, says, stops, receipts, seconds, alive } = createJobThread();
    await says(`serve ${seconds}, ask`, 10);
    await owner.takes(thread);
    expect(receipts()).toEqual([]);
    await stops(20);
    await other.takes(thread);
    expect(alive()).toBe(0);
    expect(receipts()).toEqual([expect.stringMatching(/1 command ended \(\d process(es)?\), 0 left alive/)]);
  });
});
