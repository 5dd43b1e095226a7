import { afterAll, beforeAll, expect, test } from "vitest";
import type { OutboundMessage } from "../../../src/chat/outbound.ts";
import { flushOutbox } from "../../../src/queue/outbox/flush.ts";
import { createRateLimiter, type RateLimiter } from "../../../src/queue/outbox/rate-limit.ts";
import { keys } from "../../../src/queue/redis/keys.ts";
import { claimSession } from "../../../src/queue/session/claim.ts";
import { memoryChat } from "../../fakes/memory-chat.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const place = { platform: "memory", workspace: "w", channel: "c" };
const waiting = { kind: "progress", markdown: "⏸️ **Waiting for your decision**" } as const;
const done = { kind: "progress", markdown: "**What was done**" } as const;

/** A turn that waits for a decision: how its progress message says so is written when `reach` is called. */
async function parked(thread: string, hold: "before" | "behind") {
  const chat = memoryChat();
  const redis = server.client();
  const id = `memory:w:c:${thread}`;
  const [ref] = await chat.surface.post(
    { ...place, thread },
    { kind: "progress", markdown: "⏳ **Working**" },
    "t:progress",
  );
  const lease = await claimSession(redis, id);
  await lease.append([], { fields: { progress: JSON.stringify(ref) } });
  const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
  const { promise: reached, resolve: reach } = Promise.withResolvers<void>();
  const isLate = (message: OutboundMessage) => message.markdown === waiting.markdown;
  const surface = {
    ...chat.surface,
    async edit(...[at, message]: Parameters<typeof chat.surface.edit>) {
      if (isLate(message) && hold === "behind") {
        reach();
        await held;
      }
      await chat.surface.edit(at, message);
    },
  };
  const limiter = createRateLimiter(redis);
  const output: RateLimiter = {
    ...limiter,
    async write(...args) {
      if (args[2] === "question" && hold === "before") {
        reach();
        await held;
      }
      return limiter.write(...args);
    },
  };
  const flush = () =>
    flushOutbox(lease, {
      ...{ redis, surface, output, signal: AbortSignal.timeout(20_000), now: Date.now },
      progressQuiet: Promise.resolve(true),
      onProblem: (problem, error) => expect.unreachable(`${problem} ${String(error)}`),
    });
  const put = (key: string, entry: object) => redis.hset(keys.outbox(id), key, JSON.stringify(entry));
  await put("t:waiting", { do: "edit", field: "progress", message: waiting });
  const { rest } = await flush();
  await reached;
  return {
    letGo,
    /** How the turn ends after all, while that is still on its way. */
    async ends(message: OutboundMessage | null) {
      await put("t:progress", { do: "settle", message, since: Date.now() });
      const ended = await flush();
      letGo();
      await Promise.all([rest, ended.rest]);
      return chat.shown.map((entry) => entry.message.markdown);
    },
  };
}

test.each(["before", "behind"] as const)(
  "A turn that waited is shown as it ended, also where the word of its waiting is held up %s the limit",
  async (hold) => {
    expect(await (await parked(`edited-${hold}`, hold)).ends(done)).toEqual([done.markdown]);
    expect(await (await parked(`removed-${hold}`, hold)).ends(null)).toEqual([]);
  },
);
