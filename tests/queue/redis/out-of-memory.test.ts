import { afterAll, beforeAll, expect, test } from "vitest";
import type { StopOrder } from "../../../src/agent/events.ts";
import type { UserMessage } from "../../../src/agent/messages.ts";
import { threadId } from "../../../src/chat/threads.ts";
import { settingsSchema } from "../../../src/config/schema.ts";
import { createAccess } from "../../../src/intake/access.ts";
import { createIntake } from "../../../src/intake/intake.ts";
import { createRateLimiter } from "../../../src/queue/outbox/rate-limit.ts";
import { readJournal } from "../../../src/queue/session/journal/journal.ts";
import { claimSession } from "../../../src/queue/session/claim.ts";
import { deliver } from "../../../src/queue/session/mailbox/mailbox.ts";
import { watchStops } from "../../../src/queue/turns/stops.ts";
import { openTurnQueue } from "../../../src/queue/turns/wake-queue.ts";
import { openAuditLog } from "../../../src/telemetry/audit/log.ts";
import { auditObserver } from "../../../src/telemetry/audit/observer.ts";
import { memoryChat } from "../../fakes/memory-chat.ts";
import { offer } from "../../intake/model-offer.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const options = { onlyIfSession: false, now: 1 };
const message = (id: string): UserMessage => ({
  role: "user",
  id,
  author: { id: "U1", name: "Ada" },
  text: "hi",
  at: 1,
});

test("A Redis without memory refuses a message aloud, keeps nothing of it, and takes it later", async ({
  skip,
}) => {
  if (server.server.kind === "embedded") skip("the embedded server has no limit of memory");
  const redis = server.client();
  const thread = "memory:w:c:t";
  await deliver(redis, thread, message("m1"), options);
  const lease = await claimSession(redis, thread);

  await redis.config("SET", "maxmemory", "1");
  await expect(deliver(redis, thread, message("m2"), options)).rejects.toThrow(/out of memory.*maxmemory/);
  await expect(lease.append([{ type: "turn-start", turn: "t", at: 1 }])).rejects.toThrow(/OOM/);
  await redis.config("SET", "maxmemory", "0");

  expect(await deliver(redis, thread, message("m2"), options)).toEqual({ kind: "accepted", position: 1 });
  const { taken } = await lease.take({ type: "turn-start", turn: "t", at: 1 });
  expect((await readJournal(redis, thread)).map(({ type }) => type)).toEqual(["turn-start", "user", "user"]);
  expect(taken.map(({ id }) => id)).toEqual(["m1", "m2"]);
});

test("A Redis without memory still takes a stop, and tells the worker of it", async ({ skip }) => {
  if (server.server.kind === "embedded") skip("the embedded server has no limit of memory");
  const redis = server.client();
  const queue = openTurnQueue(redis);
  const place = { platform: "memory", workspace: "w", channel: "c", thread: "stopped" };
  const thread = threadId(place);
  await deliver(redis, thread, message("m1"), options);
  const lease = await claimSession(redis, thread);
  await lease.take({ type: "turn-start", turn: "t", at: 1 });
  const stops = await watchStops(redis, server.client(), (error) => expect.unreachable(String(error)));
  const told = Promise.withResolvers<StopOrder>();
  await stops.watch(thread, told.resolve);
  const problems: string[] = [];
  const { receive } = createIntake({
    afterStop: (id) => queue.wake(id),
    ...{ redis, queue, output: createRateLimiter(redis), surface: () => memoryChat().surface },
    budgets: { isOfToday: () => false, extend: async () => undefined },
    access: createAccess(settingsSchema.parse({}).access),
    models: () => offer(),
    skills: async () => [],
    prompts: async () => [],
    ahead: async () => 0,
    status: async () => "",
    audit() {},
    now: Date.now,
    onProblem: (problem) => problems.push(problem),
  });
  const author = { id: "U2", name: "Bob", standing: "member" as const, roles: [] };
  const observed = auditObserver({
    log: openAuditLog(redis, Date.now, (problem) => problems.push(problem)),
    mask: (text) => text,
  }).intake?.({ receive });
  await redis.config("SET", "maxmemory", "1");
  try {
    const result = await observed?.receive({ kind: "stop", target: { thread: place }, author, at: 2 });
    expect(result).toEqual({ kind: "stopping", thread });
    expect(await told.promise).toMatchObject({ by: "Bob", at: 2 });
  } finally {
    await redis.config("SET", "maxmemory", "0");
  }
  // Its place in the line of turns comes later, with the sweeper.
  expect(problems).toContain("A stopped thread could not be woken.");
  await Promise.all([stops.close(), queue.close()]);
});
