import { afterAll, beforeAll, expect, test } from "vitest";
import type { Author, InboundEvent } from "../../src/chat/inbound.ts";
import type { ChatSurface } from "../../src/chat/surface.ts";
import { memoryChat } from "../fakes/memory-chat.ts";
import { startRedis, type TestRedis } from "../fakes/redis.ts";
import { openHeddle } from "./heddle.ts";

let servers: [TestRedis, TestRedis];
beforeAll(async () => {
  servers = await Promise.all([startRedis(), startRedis()]);
});
afterAll(() => Promise.all(servers.map((server) => server.stop())));

const place = { platform: "memory", workspace: "w", channel: "c" };
const thread = { ...place, thread: "t" };
const limit = 3;

type Name = "Left" | "Right";

/** Two of them in one thread, each with a Redis and a model of its own; what one posts is told to the other. */
async function twoHeddles() {
  const chat = memoryChat();
  const said: string[] = [];
  const taken: Record<Name, string[]> = { Left: [], Right: [] };
  let ignored = 0;
  let underWay = 0;
  let look = () => {};

  const tell = async (to: Name, event: Extract<InboundEvent, { kind: "message" }>) => {
    underWay += 1;
    const result = await heddles[to].intake.receive(event);
    if (result.kind === "accepted") taken[to].push(event.text);
    else ignored += 1;
    underWay -= 1;
    look();
  };
  const open = (name: Name, other: Name, server: TestRedis) => {
    const author: Author = { id: `U${name}`, name, standing: "bot", roles: [] };
    const surface: ChatSurface = {
      ...chat.surface,
      async post(where, message, ...rest) {
        const [ref] = await chat.surface.post(where, message, ...rest);
        if (!ref) throw new Error("Nothing was posted.");
        const text = message.markdown;
        // Progress is nothing that adapters tell of bots.
        if (!message.stoppable) {
          said.push(text);
          const event = { thread, ref, author, text, attachments: [], at: Date.now() };
          void tell(other, { kind: "message", ...event, addressed: "follow-up" });
        }
        return [ref];
      },
    };
    return openHeddle(server, {
      surface,
      access: { bots: ["ULeft", "URight"], botMessages: limit },
      replies(_request, call) {
        if (call > 20) throw new Error("They talk for ever.");
        return { text: `${name} says ${call}.` };
      },
    });
  };
  const heddles = {
    Left: await open("Left", "Right", servers[0]),
    Right: await open("Right", "Left", servers[1]),
  };
  const names = ["Left", "Right"] as const;

  return {
    said,
    taken,
    ignored: () => ignored,
    /** Ada writes to both; resolves when each has read all that it has taken, and has said what it had to say. */
    async talk(text: string): Promise<void> {
      const calm = Promise.withResolvers<void>();
      look = () => {
        const isCalm = names.every((name) => {
          const { requests } = heddles[name];
          const read = JSON.stringify(requests.at(-1)?.messages ?? []);
          const isRead = [text, ...taken[name]].every((words) => read.includes(words));
          return isRead && said.includes(`${name} says ${requests.length}.`);
        });
        if (isCalm && underWay === 0) calm.resolve();
      };
      const author: Author = { id: "UAda", name: "Ada", standing: "member", roles: [] };
      const event = {
        thread,
        ref: { ...place, message: text },
        author,
        text,
        attachments: [],
        at: Date.now(),
      };
      for (const name of names)
        await heddles[name].intake.receive({ kind: "message", ...event, addressed: "mention" });
      await calm.promise;
    },
    close: () => Promise.all(names.map((name) => heddles[name].close())),
  };
}

test("Two Heddles that may give each other work come to an end, until a person writes again", async () => {
  const { said, taken, ignored, talk, close } = await twoHeddles();
  await talk("Talk!");
  expect(ignored()).toBeGreaterThan(0);
  for (const words of Object.values(taken)) expect(words.length).toBeLessThanOrEqual(limit);
  const before = { said: said.length, ignored: ignored() };
  await talk("Go on!");
  expect(said.length).toBeGreaterThan(before.said);
  expect(ignored()).toBeGreaterThan(before.ignored);
  for (const words of Object.values(taken)) expect(words.length).toBeLessThanOrEqual(2 * limit);
  await close();
});
