import type { Redis } from "ioredis";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import type { InboundEvent } from "../../../src/chat/inbound.ts";
import { keys } from "../../../src/queue/redis/keys.ts";
import { memoryChat } from "../../fakes/memory-chat.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";
import { type CommandWatch, type SentCommand, watchCommands } from "../../fakes/redis-commands.ts";
import { openHeddle } from "../../intake/heddle.ts";

let server: TestRedis;
let redis: Redis;
let watch: CommandWatch;
let heddle: Awaited<ReturnType<typeof openHeddle>>;
const chat = memoryChat();
/** What was sent until each model request of the turn that runs, and how many requests it is to make. */
let current: { sent: Promise<SentCommand[]>[]; steps: number };
beforeAll(async () => {
  server = await startRedis();
  if (server.server.kind === "embedded") return;
  redis = server.client();
  watch = await watchCommands(server);
  heddle = await openHeddle(server, {
    // Progress is edited when its time has come, which is another matter.
    surface: { ...chat.surface, limits: { ...chat.surface.limits, editIntervalMs: 60_000 } },
    replies() {
      const step = current.sent.push(watch.take());
      const items = [{ content: `step ${step}`, status: "pending" }];
      return step < current.steps ? { calls: [{ name: "todo", input: { items } }] } : { text: "Done." };
    },
  });
  // Redis knows the scripts after the first turn.
  await sentUntilRequests("warm-up", 2);
});
afterAll(async () => {
  watch?.close();
  await heddle?.close();
  await server.stop();
});
beforeEach(({ skip }) => {
  if (server.server.kind === "embedded") skip("the embedded server has no MONITOR");
});

const place = { platform: "memory", workspace: "w", channel: "c" };
const mention = (message: string): InboundEvent => ({
  ...{ kind: "message", thread: { ...place, thread: message }, ref: { ...place, message } },
  ...{ author: { id: "U1", name: "Ada", standing: "member", roles: [] }, text: "Go.", attachments: [] },
  ...{ addressed: "mention", at: 1 },
});

/** What was sent to Redis until each model request of a turn, without what BullMQ sends. */
async function sentUntilRequests(message: string, steps: number): Promise<SentCommand[][]> {
  current = { sent: [], steps };
  await watch.take();
  await heddle.intake.receive(mention(message));
  await chat.until(() => chat.marks.get(message)?.at(-1) === "answered");
  // Redis tells nobody that the turn has left its slot.
  const isBusy = () => redis.exists(keys.slots("all"), keys.waiting);
  await vi.waitFor(async () => expect(await isBusy()).toBe(0), { timeout: 30_000, interval: 10 });
  return (await Promise.all(current.sent)).map((sent) => sent.filter(({ isBullMq }) => !isBullMq));
}

/**
 * Names of what was sent for the session itself. Marks and what is published by itself come at times of their own, and
 * budgets only where there are some.
 */
function namesOf(sent: readonly SentCommand[]): string[] {
  const isPublishing = ({ name, args: [, count] }: SentCommand) =>
    ["eval", "evalsha"].includes(name) && count === "1";
  // On a slow machine whoever tells that a message waits looks into its mailbox once more.
  const isApart = ({ name, args }: SentCommand) =>
    args.some((arg) => /\{(mark|out|budget)[:}]/.test(arg)) ||
    (name === "lrange" && args[0]?.endsWith(":mail") === true);
  // Whether a connection lives is asked by a clock.
  const isProbe = ({ name }: SentCommand) => name === "ping";
  const isOwn = (command: SentCommand) => !isPublishing(command) && !isApart(command) && !isProbe(command);
  return sent.filter(isOwn).map(({ name }) => name);
}

// A number that grows here is a round trip more for everybody. `npm run bench -- --only commands` counts the whole program's.
describe("A turn asks of Redis", () => {
  test("nine commands between a mention and the model request", async () => {
    const [toRequest = []] = await sentUntilRequests("m1", 1);
    const scripts = ["deliver", "enter-slot", "claim", "take", "take"].map(() => "evalsha");
    // It is listed in two places, and its message is remembered. Besides, its mailbox is read for the slot.
    expect(namesOf(toRequest).toSorted()).toEqual([...scripts, "set", "zadd", "zadd"]);
  });

  test("two commands for a step with one call", async () => {
    const [, , ...steps] = await sentUntilRequests("m2", 6);
    expect(steps).toHaveLength(4);
    // The call and its start; its result, and the look for follow-ups.
    for (const sent of steps) expect(namesOf(sent)).toEqual(["evalsha", "evalsha"]);
  });
});
