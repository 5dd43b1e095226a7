import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { allowAll, type Policy } from "../../../src/agent/policy/policy.ts";
import { createMasker } from "../../../src/agent/secrets/mask-secrets.ts";
import type { Message } from "../../../src/agent/messages.ts";
import type { ModelRequest } from "../../../src/agent/model.ts";
import { createAgentRunner } from "../../../src/app/turns/agent-runner.ts";
import { createTurnEngine } from "../../../src/app/turns/turn-engine.ts";
import { createUndoDeps } from "../../../src/app/undo.ts";
import type { InboundMessage, IntakeResult } from "../../../src/chat/inbound.ts";
import { threadId, type ThreadRef } from "../../../src/chat/threads.ts";
import { settingsSchema } from "../../../src/config/schema.ts";
import { createAccess } from "../../../src/intake/access.ts";
import { createIntake, type IntakeAuditEvent } from "../../../src/intake/intake.ts";
import { type BudgetSettings, createBudgets } from "../../../src/queue/budgets/budgets.ts";
import { createRateLimiter } from "../../../src/queue/outbox/rate-limit.ts";
import { createJournalReader } from "../../../src/queue/session/journal/journal.ts";
import { claimSession } from "../../../src/queue/session/claim.ts";
import { loadJournal } from "../../../src/queue/session/journal/load-journal.ts";
import { readUndone } from "../../../src/queue/undo/stored.ts";
import { createUnconfinedBackend } from "../../../src/sandbox/plain/backend.ts";
import type { BackendOptions } from "../../../src/sandbox/thread/backend.ts";
import { createLog } from "../../../src/telemetry/log.ts";
import { memoryNotes } from "../../agent/tools/services.ts";
import { plainPool } from "../../agent/mcp/plain-pool.ts";
import { memoryChat } from "../../fakes/memory-chat.ts";
import type { TestRedis } from "../../fakes/redis.ts";
import { type Reply, scriptedModel } from "../../fakes/scripted-model.ts";
import { offer } from "../../intake/model-offer.ts";
import { plainMessageExtras } from "../../message-extras/plain.ts";
import { dataFolder, output } from "../../sandbox/two-threads.ts";

const free = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
const unlimited: BudgetSettings = {
  ...{ timeZone: "UTC", keepDays: 10, extensionPercent: 50 },
  ...{ day: {}, user: {}, users: {}, channel: {}, channels: {} },
};
const mebibyte = 1_048_576;

export interface UndoHostOptions {
  dataDir?: string;
  chat?: ReturnType<typeof memoryChat>;
  thread?: ThreadRef;
  policy?: Policy;
  checkpoints?: Partial<NonNullable<BackendOptions["checkpoints"]>>;
}

/** A worker's host and a gateway, without the queue between them: a test says when the thread is claimed. */
export async function openUndoHost(server: Pick<TestRedis, "client">, options: UndoHostOptions = {}) {
  const redis = server.client();
  const { dataDir = dataFolder(), chat = memoryChat() } = options;
  const place = options.thread ?? {
    ...{ platform: "memory", workspace: "w", channel: randomUUID().slice(0, 8) },
    thread: randomUUID().slice(0, 8),
  };
  const thread = threadId(place);
  const backend = createUnconfinedBackend({
    dataDir,
    checkpoints: { most: 20, bytes: 64 * mebibyte, ageMs: 86_400_000, ...options.checkpoints },
  });
  const probe = await backend.probe();
  /** What the model does with a message, by its text. */
  const script = new Map<string, Reply[]>();
  const { model, requests } = scriptedModel((request) => nextReply(script, request));
  const masker = createMasker([]);
  const problems: unknown[] = [];
  const onError = (error: unknown) => problems.push(error);
  const onProblem = (problem: string, error: unknown) => problems.push([problem, error]);
  const runner = createAgentRunner({
    choose: () => ({ ...model, limits: { ...model.limits, price: free } }),
    channel: () => ({}),
    messageExtras: plainMessageExtras(),
    summariser: model,
    limits: { steps: 10, wallMs: 60_000 },
    compaction: {},
    budgets: createBudgets({ redis, settings: unlimited, now: Date.now, warn() {}, onError }),
    policy: options.policy ?? allowAll,
    questionMs: 60_000,
    instructions: "",
    sandbox: { backend, probe: async () => probe, refresh: async () => probe },
    notes: memoryNotes,
    journal: (id) => createJournalReader(redis, id),
    surface: () => chat.surface,
    skills: { current: async () => ({ skills: [], problems: [] }), mounts: () => [] },
    mcp: plainPool(),
    masker,
    log: createLog("silent", masker, { terminal: false }),
  });
  const engine = await createTurnEngine({
    offersUndo: true,
    ...{ redis, runner, output: createRateLimiter(redis), onProblem, onError },
    subscriber: server.client(),
    surface: () => chat.surface,
    expireSeconds: 1_000,
    undo: createUndoDeps(
      {
        sandbox: { backend, probe: async () => probe, refresh: async () => probe },
        ...{ masker, surface: () => chat.surface, output: createRateLimiter(redis) },
      },
      onError,
    ),
  });
  const audited: IntakeAuditEvent[] = [];
  const intake = createIntake({
    afterStop: async () => {},
    ...{ redis, output: createRateLimiter(redis), onProblem },
    queue: { wake: async () => {} },
    budgets: { isOfToday: () => false, extend: async () => undefined },
    surface: () => chat.surface,
    audit: (event) => void audited.push(event),
    access: createAccess(settingsSchema.parse({}).access),
    models: () => offer(),
    skills: async () => [],
    prompts: async () => [],
    ahead: async () => 0,
    status: async () => "",
    now: Date.now,
  });
  const author = (id: string) => ({ id, name: id, standing: "member", roles: [] }) as const;
  let messages = 0;

  return {
    ...{ redis, chat, thread, place, dataDir, backend, requests, audited, problems, intake },
    /** Somebody writes, and the model does that with it. */
    async says(text: string, replies: Reply[] = [], by = "Ada", where = place.thread): Promise<IntakeResult> {
      if (replies.length > 0) script.set(text, replies);
      const message = `${where}-${randomUUID().slice(0, 8)}`;
      const event: InboundMessage = {
        ...{
          kind: "message",
          thread: { ...place, thread: where },
          ref: { ...place, message },
          author: { ...author(by), roles: [] },
        },
        ...{ text, attachments: [], addressed: "mention", at: Date.now() + (messages += 1) },
      };
      return intake.receive(event);
    },
    /** Somebody presses a button of the last message that has one of that label. */
    async presses(label: string, by = "Ada"): Promise<IntakeResult> {
      const shown = chat.shown.findLast(({ message }) =>
        message.actions?.some((action) => action.label === label),
      );
      const action = shown?.message.actions?.find((one) => one.label === label);
      if (!shown || !action) throw new Error(`There is no button ${label}.`);
      return intake.receive({
        ...{ kind: "action", thread: place, ref: shown.ref, author: { ...author(by), roles: [] } },
        ...{ action: action.id, at: Date.now(), tellsRefusal: true },
      });
    },
    /** A worker claims the thread and does what there is to do. */
    run: (of = thread, signal = new AbortController().signal) => engine.runSession(of, signal),
    async shell(command: string, of = thread): Promise<string> {
      return output(await backend.open(of), command);
    },
    /** What the next turn would begin with. */
    async conversation(of = thread): Promise<Message[]> {
      const lease = await claimSession(redis, of);
      const undone = readUndone(redis, of, lease.found.head);
      return (await loadJournal(redis, of, lease.found.journal, undone)).replay.history().messages;
    },
    last: () => chat.shown.at(-1)?.message.markdown ?? "",
    shown: () => chat.shown.map(({ message }) => message),
    async close() {
      await engine.close();
      await backend.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** One after the other, for the newest message of a person. */
function nextReply(script: Map<string, Reply[]>, { messages }: ModelRequest): Reply {
  const known = messages.findLast((message) => message.role === "user" && script.has(message.text));
  const replies = known?.role === "user" ? script.get(known.text) : undefined;
  return replies?.shift() ?? { text: "Done." };
}
