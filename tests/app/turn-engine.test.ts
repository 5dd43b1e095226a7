import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { InboundEvent } from "../../src/chat/inbound.ts";
import { memoryChat } from "../fakes/memory-chat.ts";
import { startRedis, type TestRedis } from "../fakes/redis.ts";
import { type CommandWatch, type SentCommand, watchCommands } from "../fakes/redis-commands.ts";
import { openHeddle } from "../intake/heddle.ts";

let server: TestRedis;
let watch: CommandWatch;
beforeAll(async () => {
  server = await startRedis();
  if (server.server.kind === "system") watch = await watchCommands(server);
});
afterAll(async () => {
  watch?.close();
  await server.stop();
});

const place = { platform: "memory", workspace: "w", channel: "c" };
const mention = (message: string): InboundEvent => ({
  ...{ kind: "message", thread: { ...place, thread: message }, ref: { ...place, message } },
  ...{ author: { id: "U1", name: "Ada", standing: "member", roles: [] }, text: "Go.", attachments: [] },
  ...{ addressed: "mention", at: 1 },
});

/** What was sent to Redis until each model request of a turn, without what BullMQ sends. */
async function sentUntilRequests(message: string, steps: number): Promise<SentCommand[][]> {
  const chat = memoryChat();
  // Progress is edited when its time has come, which is another matter.
  const surface = { ...chat.surface, limits: { ...chat.surface.limits, editIntervalMs: 60_000 } };
  const sent: Promise<SentCommand[]>[] = [];
  const heddle = await openHeddle(server, {
    surface,
    steps: steps + 1,
    replies: (_request, call) => {
      sent.push(watch.take());
      const items = [{ content: `step ${call}`, status: "pending" }];
      return call < steps ? { calls: [{ name: "todo", input: { items } }] } : { text: "Done." };
    },
  });
  await watch.take();
  await heddle.intake.receive(mention(message));
  await chat.until(() => chat.marks.get(message)?.at(-1) === "answered");
  await heddle.close();
  return (await Promise.all(sent)).map((commands) => commands.filter(({ isBullMq }) => !isBullMq));
}

/** Redis knows the scripts after the first turn. */
const warmUp = () => sentUntilRequests("m0", 2);

/**
 * Names of what was sent for the session itself. Marks and what is published by itself come at times of their own, and
 * budgets only where there are some.
 */
function namesOf(sent: readonly SentCommand[]): string[] {
  const isPublishing = ({ name, args: [, keys] }: SentCommand) => name === "evalsha" && keys === "1";
  const isApart = ({ args }: SentCommand) => args.some((arg) => /\{(mark|out|budget)[:}]/.test(arg));
  return sent.filter((command) => !isPublishing(command) && !isApart(command)).map(({ name }) => name);
}

// A number that grows here is a round trip more for everybody. `npm run bench -- --only commands` counts the whole program's.
describe("A turn asks of Redis", () => {
  test("nine commands between a mention and the model request", async ({ skip }) => {
    if (server.server.kind === "embedded") skip("the embedded server has no MONITOR");
    await warmUp();
    const [toRequest = []] = await sentUntilRequests("m1", 1);
    const scripts = ["deliver", "enter-slot", "claim", "take", "take"].map(() => "evalsha");
    // It is listed in two places, its message is remembered, and its mailbox is read for the slot.
    expect(namesOf(toRequest).toSorted()).toEqual([...scripts, "lrange", "set", "zadd", "zadd"]);
  });

  test("two commands for a step with one call", async ({ skip }) => {
    if (server.server.kind === "embedded") skip("the embedded server has no MONITOR");
    await warmUp();
    const [, , ...steps] = await sentUntilRequests("m2", 6);
    expect(steps).toHaveLength(4);
    // The call and its start; its result, and the look for follow-ups.
    for (const sent of steps) expect(namesOf(sent)).toEqual(["evalsha", "evalsha"]);
  });
});
