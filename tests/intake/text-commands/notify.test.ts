import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { Author } from "../../../src/chat/inbound.ts";
import { readNotifyCommand } from "../../../src/intake/text-commands/notify.ts";
import { memoryChat } from "../../fakes/memory-chat.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";
import { openHeddle } from "../heddle.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

test.each([
  ["!notify", "show"],
  ["/notify ON", "on"],
  [" !notify off ", "off"],
  ["!notify default", "default"],
  ["!notify me", undefined],
  ["notify on", undefined],
  ["please !notify on", undefined],
])("%j is read as %j", (text, command) => {
  expect(readNotifyCommand(text)).toBe(command);
});

test("Whoever has chosen so is mentioned when each turn ends, in all threads, and nobody else is", async () => {
  const chat = memoryChat();
  const { intake, close } = await openHeddle(server, {
    surface: chat.surface,
    replies: [{ text: "One." }, { text: "Two." }, { text: "Three." }],
  });
  onTestFinished(close);
  let sent = 0;
  const place = { platform: "memory", workspace: "w", channel: "c" };
  const says = (id: string, thread: string, text: string) => {
    const author: Author = { id, name: id, standing: "member", roles: [] };
    const ref = { ...place, message: `m${++sent}` };
    const message = { thread: { ...place, thread }, ref, author, text, attachments: [], at: Date.now() };
    return intake.receive({ kind: "message", addressed: "mention", ...message });
  };
  const shows = (text: string) =>
    chat.until(
      () =>
        chat.shown.find(({ message }) => message.kind !== "progress" && message.markdown.includes(text))
          ?.message,
    );

  await says("Uada", "t1", "!notify");
  expect((await shows("for everybody")).markdown).toContain("`!notify on`");
  await says("Uada", "t1", "!notify on");
  await shows("I mention you whenever");
  await says("Uada", "t2", "begin");
  expect((await shows("One.")).mentions).toEqual(["Uada"]);
  await says("Ubob", "t3", "begin");
  expect(await shows("Two.")).not.toHaveProperty("mentions");
  await says("Uada", "t3", "!notify default");
  await shows("if that is set up here");
  await says("Uada", "t4", "begin");
  expect(await shows("Three.")).not.toHaveProperty("mentions");
});
