import type { ModelRequest } from "../../src/agent/model.ts";
import { allowAll } from "../../src/agent/policy/policy.ts";
import { createMasker } from "../../src/agent/secrets/mask-secrets.ts";
import { createAgentRunner } from "../../src/app/turns/agent-runner.ts";
import { createTurnEngine } from "../../src/app/turns/turn-engine.ts";
import type { Intake } from "../../src/chat/inbound.ts";
import type { ChatSurface } from "../../src/chat/surface.ts";
import { parseThreadId } from "../../src/chat/threads.ts";
import { settingsSchema } from "../../src/config/schema.ts";
import type { WatchSettings } from "../../src/config/watch.ts";
import { createChannelWatch } from "../../src/hooks/watch/channel-watch.ts";
import { createAccess } from "../../src/intake/access.ts";
import { createIntake } from "../../src/intake/intake.ts";
import { type BudgetSettings, createBudgets } from "../../src/queue/budgets/budgets.ts";
import { createRateLimiter } from "../../src/queue/outbox/rate-limit.ts";
import { createJournalReader } from "../../src/queue/session/journal/journal.ts";
import { createSlots } from "../../src/queue/turns/slots.ts";
import { startTurnWorker } from "../../src/queue/turns/turn-worker.ts";
import { openTurnQueue } from "../../src/queue/turns/wake-queue.ts";
import { createBubblewrapBackend } from "../../src/sandbox/bubblewrap/backend.ts";
import { createLog } from "../../src/telemetry/log.ts";
import { memoryNotes } from "../agent/tools/services.ts";
import type { TestRedis } from "../fakes/redis.ts";
import { scriptedModel } from "../fakes/scripted-model.ts";
import { offer } from "./model-offer.ts";
import { plainMessageExtras } from "../message-extras/plain.ts";
import { plainPool } from "../agent/mcp/plain-pool.ts";

const noSandbox = { ok: false, summary: "", problems: [], missing: [] };
const unlimited: BudgetSettings = {
  ...{ timeZone: "UTC", keepDays: 10, extensionPercent: 50 },
  ...{ day: {}, user: {}, users: {}, channel: {}, channels: {} },
};
const price = { input: 0, output: 1, cacheRead: 0, cacheWrite: 0 };

interface HeddleOptions {
  surface: ChatSurface;
  replies: Parameters<typeof scriptedModel>[0];
  budgets?: Partial<BudgetSettings>;
  /** The `access` of its settings. */
  access?: object;
  steps?: number;
  /** How the channel `memory:w:c` is watched; by default it is not. */
  watch?: WatchSettings;
  /** How often threads are looked for whose wake-up was lost, ms. Default: not before the test is over. */
  sweepMs?: number;
  /** What an operator reads. Default: a problem is a failure. */
  problems?: string[];
  /** The clock of budgets and watched channels. */
  now?(): number;
}

/** A Heddle as one process has it: the whole path of a message to a scripted model, whose calls cost one cent each. */
export async function openHeddle(
  server: TestRedis,
  options: HeddleOptions,
): Promise<{ intake: Intake; requests: ModelRequest[]; close(): Promise<void> }> {
  const { surface, now = Date.now } = options;
  const redis = server.client();
  const queue = openTurnQueue(redis);
  const output = createRateLimiter(redis);
  let isClosed = false;
  const onProblem = (problem: string, error: unknown) => {
    if (options.problems) return void options.problems.push(problem);
    // Marks may be under way at the end of a test: nobody waits for them.
    if (!isClosed) throw new Error(problem, { cause: error });
  };
  const onError = (error: unknown) => onProblem("", error);
  const { model, requests } = scriptedModel(options.replies);
  const budgets = createBudgets({
    redis,
    settings: { ...unlimited, ...options.budgets },
    now,
    warn(thread, { markdown, key }) {
      if (thread === undefined) return;
      void surface.post(parseThreadId(thread), { kind: "notice", markdown }, key);
    },
    onError,
    triggers: { get: () => options.watch?.budget },
  });
  const watch = createChannelWatch({
    ...{ redis, queue, onProblem, now },
    settings: (channel) => (channel === "memory:w:c" ? options.watch : undefined),
  });
  const intake = createIntake({
    afterStop: (thread) => queue.wake(thread),
    ...{ redis, queue, output, budgets, onProblem, watch },
    surface: () => surface,
    audit() {},
    access: createAccess(settingsSchema.parse({ access: options.access ?? {} }).access),
    models: () => offer(),
    skills: async () => [],
    prompts: async () => [],
    ahead: async () => 0,
    status: async () => "",
    now: Date.now,
  });
  const masker = createMasker([]);
  // A call is reckoned with at a hundredth of a cent, so that the budgets below are used up to the end.
  const paid = { ...model, limits: { ...model.limits, maxOutputTokens: 100, price } };
  const runner = createAgentRunner({
    choose: () => paid,
    channel: () => ({ ...(options.watch && { watch: options.watch }) }),
    messageExtras: plainMessageExtras(),
    summariser: model,
    limits: { steps: options.steps ?? 10, wallMs: 60_000 },
    compaction: {},
    budgets,
    policy: allowAll,
    questionMs: 60_000,
    instructions: "",
    sandbox: {
      backend: createBubblewrapBackend({ dataDir: "" }),
      probe: async () => noSandbox,
      refresh: async () => noSandbox,
    },
    notes: memoryNotes,
    journal: (id) => createJournalReader(redis, id),
    surface: () => surface,
    skills: { current: async () => ({ skills: [], problems: [] }), mounts: () => [] },
    mcp: plainPool(),
    masker,
    log: createLog("silent", masker, { terminal: false }),
  });
  const engine = await createTurnEngine({
    ...{ redis, runner, output, onProblem, onError },
    subscriber: server.client(),
    surface: () => surface,
    expireSeconds: 1_000,
  });
  const worker = await startTurnWorker({
    ...{ redis, queue, concurrency: 4, lockMs: 30_000, onError },
    sweepMs: options.sweepMs ?? 60_000,
    slots: createSlots(redis, { perUser: 9, perChannel: 9, total: 9 }, onError),
    runSession: engine.runSession,
    endUnheldThread: engine.endUnheldThread,
  });
  return {
    intake,
    requests,
    async close() {
      isClosed = true;
      watch.close();
      await worker.close();
      await engine.close();
      await queue.close();
    },
  };
}
