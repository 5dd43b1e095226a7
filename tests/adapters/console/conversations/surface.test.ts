import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { Conversations } from "../../../../src/adapters/console/conversations/conversations.ts";
import { createConsoleThread } from "../../../../src/adapters/console/conversations/intake.ts";
import { readThreadAddress } from "../../../../src/adapters/console/page/addresses.ts";
import { createConsoleSurface } from "../../../../src/adapters/console/conversations/surface.ts";
import type { OutboundMessage } from "../../../../src/chat/outbound.ts";
import { type ChatSurface, SurfaceError } from "../../../../src/chat/surface.ts";
import type { ThreadRef } from "../../../../src/chat/threads.ts";
import { startRedis, type TestRedis } from "../../../fakes/redis.ts";

describe.each([
  ["the machine's Redis", false],
  ["the embedded Redis", true],
])("on %s", (_server, embedded) => {
  let redis: TestRedis;
  let surface: ChatSurface;
  let conversations: Conversations;
  let thread: ThreadRef;
  let now = 1_000_000;

  beforeAll(async () => {
    redis = await startRedis({ embedded });
    surface = createConsoleSurface({ redis: redis.client(), now: () => now });
    conversations = new Conversations(redis.client(), () => now);
  });
  afterAll(() => redis.stop());
  beforeEach(() => {
    thread = createConsoleThread();
  });

  const answer = (markdown: string): OutboundMessage => ({ kind: "answer", markdown });

  async function post(message: OutboundMessage, key: string) {
    const [ref] = await surface.post(thread, message, key);
    if (!ref) throw new Error("post returned no ref");
    return ref;
  }

  async function shown(): Promise<unknown[]> {
    const messages = await conversations.messages(thread.thread);
    return messages.map(({ id: _id, place: _place, at: _at, ...content }) => content);
  }

  describe("posting", () => {
    test("messages stay in the order in which they were posted", async () => {
      for (const word of ["one", "two", "three"]) await post(answer(word), word);
      expect(await shown()).toEqual([answer("one"), answer("two"), answer("three")]);
    });

    test("the same key posts once, and gives the same ref again", async () => {
      const first = await post(answer("hello"), "key");
      const second = await post(answer("hello"), "key");
      expect(second).toEqual(first);
      expect(await shown()).toEqual([answer("hello")]);
    });

    test("a text that is too long becomes several messages and loses nothing", async () => {
      const text = Array.from({ length: 30_000 }, (_, line) => `line ${line}`).join("\n");
      const refs = await surface.post(thread, answer(text), "long");
      const parts = await conversations.messages(thread.thread);
      expect(refs.length).toBe(parts.length);
      expect(parts.length).toBeGreaterThan(2);
      const texts = parts.map((part) => (part.kind === "answer" ? part.markdown : ""));
      expect(Math.max(...texts.map((part) => part.length))).toBeLessThanOrEqual(surface.limits.messageChars);
      expect(texts.join("\n")).toBe(text);
    });

    test("a character is never cut in two", async () => {
      await surface.post(thread, answer(`a${"🧵".repeat(60_000)}`), "long");
      for (const part of await conversations.messages(thread.thread)) {
        expect(part.kind === "answer" && part.markdown.isWellFormed()).toBe(true);
      }
    });
  });

  test("a thread that it opens has the title that it is given, and an address that the page reads", async () => {
    const { platform, workspace, channel } = thread;
    const { thread: opened } =
      (await surface.openThread?.({ platform, workspace, channel }, "⑂ **Fork**", "k", 0, "make a (fork)")) ??
      {};
    if (!opened) throw new Error("No thread was opened.");
    expect(await conversations.thread(opened.thread)).toMatchObject({ title: "make a (fork)" });
    expect(readThreadAddress(surface.addressOf?.(opened) ?? "")).toEqual({ thread: opened.thread });
  });

  describe("editing", () => {
    test("an edit replaces the whole message and keeps its place", async () => {
      const ref = await post(
        { kind: "progress", markdown: "working", footer: "1 s", stoppable: true },
        "progress",
      );
      await post(answer("done"), "answer");
      await surface.edit(ref, { kind: "progress", markdown: "worked" });
      expect(await shown()).toEqual([{ kind: "progress", markdown: "worked" }, answer("done")]);
    });

    test("what does not fit is cut", async () => {
      const ref = await post(answer("short"), "key");
      await surface.edit(ref, answer("x".repeat(200_000)));
      const [message] = await conversations.messages(thread.thread);
      expect(message?.kind === "answer" && message.markdown).toHaveLength(surface.limits.messageChars);
    });

    test("work that waits for people is marked as paused, in its list too, until it goes on", async () => {
      const ref = await post(answer("hello"), "key");
      await surface.mark(ref, "taken", { paused: true });
      expect(await shown()).toEqual([{ ...answer("hello"), mark: "taken", paused: true }]);
      expect(await conversations.thread(thread.thread)).toMatchObject({ state: "taken", paused: true });
      await surface.mark(ref, "answered");
      expect(await shown()).toEqual([{ ...answer("hello"), mark: "answered" }]);
      expect(await conversations.thread(thread.thread)).not.toHaveProperty("paused");
    });

    test("a thread that works is working, whatever waits in it or was answered beside it", async () => {
      const state = async () => (await conversations.thread(thread.thread))?.state;
      const [first, second, command] = [
        await post(answer("1"), "1"),
        await post(answer("2"), "2"),
        await post(answer("3"), "3"),
      ];
      await surface.mark(first, "taken");
      await surface.mark(second, "waiting", { place: 1 });
      await surface.mark(command, "answered");
      expect(await state()).toBe("taken");
      await surface.mark(second, "taken");
      await surface.mark(first, "answered");
      expect(await state()).toBe("taken");
      await surface.mark(second, "stopped");
      expect(await state()).toBe("stopped");
    });

    test("a message that is gone is no work of its thread", async () => {
      const [first, second] = [await post(answer("1"), "1"), await post(answer("2"), "2")];
      await surface.mark(first, "taken");
      await surface.remove(first);
      await surface.mark(second, "waiting");
      expect(await conversations.thread(thread.thread)).toMatchObject({ state: "waiting" });
    });

    test("a message that was removed cannot be edited or marked: it is gone", async () => {
      const ref = await post(answer("hello"), "key");
      await surface.remove(ref);
      await surface.remove(ref);
      expect(await shown()).toEqual([]);
      await expect(surface.edit(ref, answer("again"))).rejects.toMatchObject({ kind: "gone" });
      await expect(surface.mark(ref, "answered")).rejects.toMatchObject({ kind: "gone" });
      expect(await shown()).toEqual([]);
    });

    test("a message that waits tells how many are before it, until it is taken", async () => {
      const ref = await post(answer("hello"), "key");
      await surface.mark(ref, "waiting", { place: 2 });
      expect(await conversations.messages(thread.thread)).toMatchObject([{ mark: "waiting", ahead: 2 }]);
      await surface.mark(ref, "taken");
      const [message] = await conversations.messages(thread.thread);
      expect(message).toMatchObject({ kind: "answer", markdown: "hello", mark: "taken" });
      expect(message).not.toHaveProperty("ahead");
    });

    test("changes that are made at the same time all count", async () => {
      const id = await conversations.add(thread.thread, "key", { kind: "answer", markdown: "" });
      const digits = [..."0123456789abcdef"];
      await Promise.all(
        digits.map((digit) =>
          conversations.change(thread.thread, id, (content) =>
            content.kind === "answer" ? { ...content, markdown: content.markdown + digit } : content,
          ),
        ),
      );
      const [message] = await conversations.messages(thread.thread);
      const written = message?.kind === "answer" ? [...message.markdown] : [];
      expect(written.toSorted()).toEqual(digits);
    });
  });

  describe("finding", () => {
    test("a message leads to its thread until it is removed", async () => {
      const ref = await post(answer("hello"), "key");
      expect(await surface.threadOf(ref)).toEqual(thread);
      await surface.remove(ref);
      expect(await surface.threadOf(ref)).toBeUndefined();
    });
  });

  describe("marks", () => {
    test("a mark replaces the earlier one and becomes the state of the thread", async () => {
      const person = { kind: "person" as const, name: "Ada", text: "Please add two and two" };
      const id = await conversations.add(thread.thread, "said", person);
      const ref = {
        platform: "local",
        workspace: "console",
        channel: "main",
        message: `${thread.thread}.${id}`,
      };
      await surface.mark(ref, "taken");
      await surface.mark(ref, "answered");
      expect(await shown()).toEqual([{ ...person, mark: "answered" }]);
      expect(await conversations.thread(thread.thread)).toMatchObject({
        title: "Please add two and two",
        state: "answered",
      });
    });
  });

  test("a thread is called by the first task in it, and not by an order or its answer", async () => {
    const title = async () => (await conversations.thread(thread.thread))?.title;
    const says = (key: string, text: string) =>
      conversations.add(thread.thread, key, { kind: "person", name: "Ada", text });
    await says("first", "/full");
    await surface.post(thread, { kind: "notice", markdown: "Everything is shown." }, "order");
    expect(await title()).toBe("Untitled");
    await says("second", "Deploy the site");
    await says("third", "And then the shop");
    expect(await title()).toBe("Deploy the site");
  });

  describe("files", () => {
    test("a file comes back byte for byte", async () => {
      const data = Buffer.from(Array.from({ length: 512 }, (_, byte) => byte % 256));
      const [ref] = await surface.upload(thread, { name: "noise.bin", data }, "upload");
      await surface.upload(thread, { name: "noise.bin", data }, "upload");
      expect(await shown()).toEqual([{ kind: "file", name: "noise.bin", bytes: 512 }]);
      const id = ref?.message.split(".")[1] ?? "";
      expect(await conversations.file(thread.thread, id)).toEqual(data);
    });

    test("a file of more than 16 MiB is rejected", async () => {
      const data = Buffer.alloc(16 * 1024 * 1024 + 1);
      const upload = surface.upload(thread, { name: "big.bin", data }, "upload");
      await expect(upload).rejects.toMatchObject({
        kind: "rejected",
        message: expect.stringContaining("16 MiB"),
      });
    });
  });

  describe("keeping", () => {
    test("every key of a thread expires, and a thread that has been silent for 30 days leaves the list", async () => {
      const { thread: old } = thread;
      await post(answer("long ago"), "key");
      const keys = await redis.client().keys(`heddle:{local:console:main:${old}}:local:*`);
      expect(keys.length).toBeGreaterThan(1);
      for (const key of keys) expect(await redis.client().pttl(key)).toBeGreaterThan(0);

      now += 31 * 24 * 60 * 60 * 1000;
      thread = createConsoleThread();
      await post(answer("today"), "key");
      const listed = (await conversations.threads()).map(({ id }) => id);
      expect(listed).toContain(thread.thread);
      expect(listed).not.toContain(old);
    });

    test("a thread is on the list also behind two hundred newer ones that were put away", async () => {
      const { thread: old } = thread;
      await post(answer("still open"), "key");
      for (let n = 0; n < 200; n += 1) {
        now += 1;
        thread = createConsoleThread();
        await post(answer("done"), "key");
        await conversations.describe(thread.thread, { archivedAt: now });
      }
      expect((await conversations.threads()).map(({ id }) => id)).toContain(old);
    });

    test("without Redis the outcome is uncertain", async () => {
      const client = redis.client();
      const lost = createConsoleSurface({ redis: client });
      client.disconnect();
      const attempt = lost.post(thread, answer("hello"), "key");
      await expect(attempt).rejects.toThrow(SurfaceError);
      await expect(attempt).rejects.toMatchObject({ kind: "uncertain" });
    });
  });
});
