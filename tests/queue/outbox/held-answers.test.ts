import { pino } from "pino";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { createSlackSurface } from "../../../src/adapters/slack/surface/surface.ts";
import { flushOutbox } from "../../../src/queue/outbox/flush.ts";
import { createRateLimiter } from "../../../src/queue/outbox/rate-limit.ts";
import { keys } from "../../../src/queue/redis/keys.ts";
import { claimSession } from "../../../src/queue/session/claim.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";
import { startFakeSlack } from "../../fakes/slack/fake-slack.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const hour = 3_600_000;

/** An answer of a bot that was removed from its channel before it could post it. */
async function removed(kind: "public" | "private") {
  const slack = await startFakeSlack();
  onTestFinished(() => slack.close());
  const surface = createSlackSurface({
    ...{ botToken: slack.botToken, apiUrl: slack.url },
    log: pino({ level: "silent" }),
  });
  const [ada, channel] = [slack.user("ada"), slack.channel(kind, { kind })];
  const root = await ada.says(channel, "<@BOT> work");
  channel.members.delete(slack.bot.id);
  const redis = server.client();
  const thread = `slack:${slack.teamId}:${channel.id}:${root.ts}`;
  const ref = { platform: "slack", workspace: slack.teamId, channel: channel.id, message: root.ts };
  const outbox = {
    "t:answer": { do: "post", message: { kind: "answer", markdown: "It is done." }, attempts: 0 },
    [`t:mark:${root.ts}`]: { do: "mark", ref, mark: "answered" },
    "t:progress": { do: "settle", message: null, since: Date.now() },
  };
  for (const [key, entry] of Object.entries(outbox))
    await redis.hset(keys.outbox(thread), key, JSON.stringify(entry));
  const problems: string[] = [];
  let now = Date.now();
  const flush = async () => {
    const { rest, retryAt } = await flushOutbox(await claimSession(redis, thread), {
      ...{ redis, surface, output: createRateLimiter(redis), signal: AbortSignal.timeout(20_000) },
      progressQuiet: Promise.resolve(true),
      now: () => now,
      onProblem: (problem) => problems.push(problem),
    });
    await rest;
    return retryAt === undefined ? undefined : retryAt - now;
  };
  return {
    flush,
    problems,
    root,
    texts: () => channel.messages.map(({ text }) => text),
    passes: (ms: number) => void (now += ms),
    invite: () => void channel.members.add(slack.bot.id),
    left: () => redis.hkeys(keys.outbox(thread)),
    unsaid: () => redis.hget(keys.head(thread), "unsaid"),
  };
}

test.each(["public", "private"] as const)(
  "An answer waits until the bot is invited to its %s channel again, and its message has its mark then",
  async (kind) => {
    const { flush, problems, root, texts, passes, invite, left, unsaid } = await removed(kind);
    expect(await flush()).toBe(60_000);
    expect(await unsaid()).toBe("1");
    passes(hour);
    expect(await flush()).toBe(hour / 2);
    expect(problems).toHaveLength(1);
    invite();
    expect(await flush()).toBeUndefined();
    expect(texts()).toContain("It is done.");
    expect(root.reactions.has("white_check_mark")).toBe(true);
    expect(await left()).toEqual([]);
    expect(await unsaid()).toBeNull();
  },
);

test("An answer for which the bot is not invited again for hours is left in the console", async () => {
  const { flush, texts, passes, invite, left, unsaid } = await removed("public");
  await flush();
  passes(7 * hour);
  expect(await flush()).toBeUndefined();
  invite();
  await flush();
  expect(texts()).not.toContain("It is done.");
  expect(await left()).toEqual([]);
  expect(await unsaid()).toBe("1");
});
