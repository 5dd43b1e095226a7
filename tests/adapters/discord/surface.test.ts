import { ChannelType, MessageFlags } from "discord.js";
import { describe, expect, test } from "vitest";
import { readTime } from "../../../src/adapters/discord/connection/ids.ts";
import { createRest } from "../../../src/adapters/discord/connection/rest.ts";
import type { RequestLimit } from "../../../src/chat/request-limit.ts";
import { type ChatSurface, SurfaceError } from "../../../src/chat/surface.ts";
import type { MessageRef, ThreadRef } from "../../../src/chat/threads.ts";
import type { OutboundMessage } from "../../../src/chat/outbound.ts";
import type { FakeDiscord, FakeDiscordOptions, Person } from "../../fakes/discord/fake-discord.ts";
import type { FakeChannel, FakeMessage } from "../../fakes/discord/world.ts";
import { fakeDiscord, surfaceOf } from "./connected-adapter.ts";

interface Scene {
  discord: FakeDiscord;
  surface: ChatSurface;
  ada: Person;
  general: FakeChannel;
  /** Ada's message, from which the thread starts. */
  root: FakeMessage;
  rootRef: MessageRef;
  thread: ThreadRef;
  /** What is in the thread. */
  replies(): FakeMessage[];
}

async function scene(options: FakeDiscordOptions = {}): Promise<Scene> {
  const discord = await fakeDiscord({ hurry: 20, ...options });
  const ada = discord.user("ada");
  const general = discord.channel("general");
  const root = ada.says(general, "<@BOT> ## **do** it\nnow");
  const place = { platform: "discord", workspace: discord.guild.id, channel: general.id };
  return {
    discord,
    surface: surfaceOf(discord),
    ada,
    general,
    root,
    rootRef: { ...place, message: `${general.id}/${root.id}` },
    thread: { ...place, thread: root.id },
    replies: () => discord.threadOf(root)?.messages ?? [],
  };
}

async function failure(work: Promise<unknown>): Promise<SurfaceError> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof SurfaceError)) throw new Error(`Expected a SurfaceError, got ${String(error)}.`);
  return error;
}

/** As the output scheduler does: waits as long as Discord wants, and comes back. */
async function patiently<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof SurfaceError) || error.kind !== "rate-limited") throw error;
      await new Promise((resolve) => setTimeout(resolve, error.retryAfterMs));
    }
  }
}

const answer = (markdown: string): OutboundMessage => ({ kind: "answer", markdown });

describe("post", () => {
  test("names the thread without the mention of the bot, which may be that of its role", async () => {
    const { surface, thread, discord, ada } = await scene();
    const say = async (text: string) => {
      const root = ada.says(discord.channel("general"), text);
      await surface.post({ ...thread, thread: root.id }, answer("Done."), root.id);
      return discord.threadOf(root)?.name;
    };
    expect(await say(`<@&${discord.guild.botRole}> count the lines`)).toBe("count the lines");
    expect(await say("<@BOT>, please count")).toBe("please count");
  });

  test("makes the thread of the message, named after it, and writes there", async () => {
    const { surface, thread, discord, root, ada, replies } = await scene();
    const refs = await surface.post(thread, { ...answer("**Done.**"), footer: "3 steps\n2 s" }, "k");
    await surface.post(thread, answer("More."), "k2");
    expect(discord.threadOf(root)?.name).toBe("do it");
    expect(discord.threadOf(root)?.members).toEqual(new Set([ada.user]));
    expect(replies().map(({ content }) => content)).toEqual(["**Done.**\n-# 3 steps 2 s", "More."]);
    const { platform, workspace, channel } = thread;
    expect(refs).toEqual([{ platform, workspace, channel, message: `${root.id}/${replies()[0]?.id}` }]);
  });

  test("makes the thread once and first, whatever is shown in it at once, and no call is refused", async () => {
    const { discord, surface, thread, rootRef, root } = await scene();
    await surface.mark(rootRef, "taken", { isFirst: true });
    const [, [progress]] = await Promise.all([
      surface.status?.(thread, "is thinking…"),
      surface.post(thread, { kind: "progress", markdown: "working" }, "p"),
    ]);
    if (progress) for (const step of ["one", "two"]) await surface.edit(progress, answer(step));
    await surface.post(thread, answer("Done."), "b");
    await patiently(() => surface.mark(rootRef, "answered"));
    const calls = discord.calls.map(({ call }) => call);
    expect(calls.filter((call) => call.endsWith("/threads"))).toHaveLength(1);
    expect(calls.filter((call) => call.includes("thread-members"))).toHaveLength(1);
    expect(new Set(calls).size, calls.join("\n")).toBeLessThanOrEqual(12);
    expect(discord.refused).toEqual([]);
    expect([...root.reactions.keys()]).toEqual(["✅"]);
  });

  test("writes into a thread that exists without asking for one", async () => {
    const { discord, thread, root, replies } = await scene();
    discord.startThread(root, "theirs");
    await surfaceOf(discord).post(thread, answer("Done."), "a");
    expect(replies().map(({ content }) => content)).toEqual(["Done."]);
    expect(discord.refused).toEqual([]);
  });

  test("takes no word of Discord's on typing for a thread that is there", async () => {
    const { discord, surface, thread, replies } = await scene();
    discord.fail(/typing$/, { kind: "refuse", status: 200, code: 0, message: "typed" }, 5);
    await surface.status?.(thread, "is thinking…");
    await surface.post(thread, answer("Done."), "a");
    expect(replies().map(({ content }) => content)).toEqual(["Done."]);
  });

  test("two processes that make the same thread end up in one", async () => {
    const { discord, surface, thread, replies } = await scene();
    await Promise.all([
      surface.post(thread, answer("a"), "a"),
      surfaceOf(discord).post(thread, answer("b"), "b"),
    ]);
    expect(
      replies()
        .map(({ content }) => content)
        .toSorted(),
    ).toEqual(["a", "b"]);
  });

  test("notifies nobody, and makes nobody's client fetch a preview; progress makes no sound", async () => {
    const { surface, thread, replies, ada } = await scene();
    await surface.post(thread, answer(`@everyone <@${ada.id}> https://example.com/?q=secret`), "k");
    await surface.post(thread, { kind: "progress", markdown: "working" }, "p");
    const [said, progress] = replies();
    expect(said?.mentions).toEqual([]);
    expect(said?.flags).toBe(MessageFlags.SuppressEmbeds);
    expect(progress?.flags).toBe(MessageFlags.SuppressEmbeds | MessageFlags.SuppressNotifications);
  });

  test("shows tables as aligned text, and leaves code alone", async () => {
    const { surface, thread, replies } = await scene();
    const code = "```\n| a |\n|---|\n```";
    const markdown = `#### Sums\n\n| name | sum |\n| --- | ---: |\n| **a\\|b** | 10 |\n| c | 2 |\n\n![chart](https://x/y.png)\n${code}`;
    await surface.post(thread, answer(markdown), "k");
    const table = ["```", "name  sum", "────  ───", "a|b    10", "c       2", "```"].join("\n");
    expect(replies()[0]?.content).toBe(`**Sums**\n\n${table}\n\n[chart](https://x/y.png)\n${code}`);
  });

  test("splits what is too long, with footer and buttons under the last part", async () => {
    const { surface, thread, replies } = await scene();
    const markdown = `\`\`\`js\n${"let x = 1;\n".repeat(300)}\`\`\``;
    await surface.post(thread, { ...answer(markdown), footer: "the end", stoppable: true }, "k");
    const shown = replies();
    expect(shown.length).toBe(2);
    for (const { content } of shown) expect(content.length).toBeLessThanOrEqual(2_000);
    expect(shown.map(({ content }) => content.startsWith("```js\n"))).toEqual([true, true]);
    expect(shown.map(({ content }) => content.endsWith("-# the end"))).toEqual([false, true]);
    expect(shown.map(({ components }) => components.length)).toEqual([0, 1]);
  });

  test("an answer of more parts than Discord takes at once goes on where it was, and nothing comes twice", async () => {
    const { discord, surface, thread, replies } = await scene();
    discord.fail(/^POST .*\/messages$/, { kind: "pass" }, 2);
    discord.fail(/^POST .*\/messages$/, { kind: "rate-limit", retryAfterSeconds: 0.01 });
    const markdown = Array.from({ length: 5 }, (_part, index) => `${index} ${"x".repeat(1_900)}`).join(
      "\n\n",
    );
    const limited = await failure(surface.post(thread, answer(markdown), "k"));
    expect(limited).toMatchObject({ kind: "rate-limited", partly: true });
    const refs = await patiently(() => surface.post(thread, answer(markdown), "k"));
    expect(refs).toHaveLength(5);
    expect(replies().map(({ content }) => content[0])).toEqual(["0", "1", "2", "3", "4"]);
  });

  test("what comes with the key of an answer that was refused in the middle does not go on behind it", async () => {
    const { discord, surface, thread, replies } = await scene({ nonceMs: 0 });
    const posting = /^POST .*\/\d+\/messages$/;
    discord.fail(posting, { kind: "pass" });
    discord.fail(posting, { kind: "refuse", status: 400, code: 200_000, message: "Blocked" });
    const long = answer(`${"a ".repeat(900)}\n\n${"b ".repeat(900)}`);
    expect((await failure(surface.post(thread, long, "k"))).kind).toBe("rejected");
    await surface.post(thread, answer("Short."), "k");
    expect(replies().map(({ content }) => content.slice(0, 6))).toEqual(["a a a ", "Short."]);
  });

  test("an answer that would be a flood is its beginning and the whole of it as a file", async () => {
    const { surface, thread, replies } = await scene();
    const markdown = `# Long\n\n${"A line of it.\n".repeat(900)}`;
    const actions = [{ id: "a", label: "👍", style: "plain" }] as const;
    const message = { ...answer(markdown), footer: "3 steps", actions: [...actions] };
    const refs = await surface.post(thread, message, "k");
    expect(refs).toHaveLength(1);
    const [shown, ...more] = replies();
    expect(more).toEqual([]);
    expect(shown?.content.length).toBeLessThanOrEqual(2_000);
    expect(shown?.content).toMatch(/^# Long\n[\s\S]*\n…\n-# The whole answer is in this file\. · 3 steps$/);
    expect(shown?.components).toHaveLength(1);
    expect(shown?.files).toMatchObject([{ name: "answer.md", content: Buffer.from(markdown) }]);
  });

  test("a question has its whole call in the same message, and calls those who decide and nobody else", async () => {
    const { surface, thread, replies } = await scene();
    const actions = [{ id: "approve:1", label: "Approve", style: "primary" as const }];
    const question = {
      kind: "question" as const,
      markdown: "```\n@everyone <@2>\n```",
      mentions: ["1"],
      actions,
    };
    const file = { name: "call.txt", text: "git push\nrm x" };
    const [ref] = await surface.post(thread, { ...question, file }, "k");
    const [asked, ...more] = replies();
    expect(more).toEqual([]);
    expect(asked?.files).toMatchObject([{ name: "call.txt", content: Buffer.from(file.text) }]);
    expect(asked?.components).toHaveLength(1);
    expect(asked?.content).toContain("<@1>, please decide.");
    if (ref) await surface.edit(ref, { kind: "question", markdown: "Approved." });
    expect(replies()[0]?.files).toHaveLength(1);
  });

  test("is shown in messages all the same where files are not taken", async () => {
    const { discord, surface, thread, general, replies } = await scene();
    await surface.post(thread, answer("one"), "a");
    discord.deny(general, "AttachFiles");
    const markdown = "x".repeat(11_000);
    const refs = await patiently(() => surface.post(thread, answer(markdown), "k"));
    expect(refs).toHaveLength(6);
    const shown = replies().slice(1);
    expect(shown.map(({ content }) => content).join("")).toBe(markdown);
    expect(shown.flatMap(({ files }) => files)).toEqual([]);
  });

  test("an empty message is still one", async () => {
    const { surface, thread, replies } = await scene();
    await surface.post(thread, answer(" "), "k");
    expect(replies()[0]?.content).toBe("…");
  });

  test("a post whose answer is lost is made once when it is repeated", async () => {
    const { discord, surface, thread, replies } = await scene();
    await surface.post(thread, answer("First."), "before");
    discord.fail(/^POST .*\/messages$/, { kind: "lost-response" });
    expect(await failure(surface.post(thread, answer("Done."), "k"))).toMatchObject({ kind: "uncertain" });
    // Another process, which knows nothing but the key.
    await surfaceOf(discord).post(thread, answer("Done."), "k");
    expect(replies().map(({ content }) => content)).toEqual(["First.", "Done."]);
  });

  test("what was posted is found by its words, and nothing that was said before or by others", async () => {
    const { discord, surface, thread, ada, replies } = await scene();
    await surface.post(thread, answer("Done."), "earlier");
    const since = readTime(replies().at(-1)?.id ?? "") + 1;
    await expect.poll(() => Date.now()).toBeGreaterThan(since);
    const channel = discord.threadOf(replies()[0] ?? expect.fail());
    if (channel) ada.says(channel, "Done.");
    const as = [answer("Done."), { ...answer("Done."), footer: "a repeat" }];
    expect(await surface.find?.(thread, "k", since, { as })).toEqual([]);
    const posted = await surface.post(thread, as[1] ?? expect.fail(), "k");
    expect(await surface.find?.(thread, "k", since, { as })).toEqual(posted);
  });

  test.each([
    ["in parts", (message: OutboundMessage) => message, 3],
    ["as a file", (message: OutboundMessage) => ({ ...message, markdown: message.markdown.repeat(3) }), 1],
  ])("a long answer that is there %s is not posted again", async (_how, make, messages) => {
    const { surface, thread, replies } = await scene();
    const long = make(answer(Array.from({ length: 900 }, (_, line) => `${line}. `).join("\n")));
    const since = Date.now();
    await patiently(() => surface.post(thread, long, "k"));
    expect(replies()).toHaveLength(messages);
    const found = (await surface.find?.(thread, "k", since, { as: [long] })) ?? [];
    await patiently(() => surface.post(thread, long, "another process", found));
    expect(replies()).toHaveLength(messages);
  });

  test("what is found after a lost answer is not posted again, also once Discord has forgotten its key", async () => {
    const { discord, surface, thread, replies } = await scene({ nonceMs: 1 });
    await surface.post(thread, { kind: "progress", markdown: "Working" }, "p");
    const long = answer(Array.from({ length: 900 }, (_, line) => `${line}. `).join("\n"));
    const since = Date.now();
    discord.fail(/^POST .*\/messages$/, { kind: "pass" });
    discord.fail(/^POST .*\/messages$/, { kind: "lost-response" });
    expect(await failure(surface.post(thread, long, "k"))).toMatchObject({ kind: "uncertain", partly: true });
    const found = (await surface.find?.(thread, "k", since, { as: [long] })) ?? [];
    expect(found).toHaveLength(2);
    expect(await patiently(() => surface.post(thread, long, "k", found))).toHaveLength(3);
    expect(replies()).toHaveLength(4);
  });

  test("promises that for a shorter time than Discord keeps it", async () => {
    const { surface } = await scene();
    expect(surface.idempotentMs).toBeGreaterThan(60_000);
    expect(surface.idempotentMs).toBeLessThan(180_000);
  });

  test("a rate limit tells how long to wait, and the surface does not wait itself", async () => {
    const { discord, surface, thread } = await scene();
    discord.fail(/^POST .*\/messages$/, { kind: "rate-limit", retryAfterSeconds: 7 });
    const { kind, retryAfterMs } = await failure(surface.post(thread, answer("Done."), "k"));
    expect(kind).toBe("rate-limited");
    expect(retryAfterMs).toBeGreaterThanOrEqual(7_000);
  });

  test("a limit for all that the bot does is one too, as is that of edits of messages older than an hour", async () => {
    const { discord, surface, thread, replies } = await scene({ hurry: 1 });
    const [ref] = await surface.post(thread, answer("one"), "a");
    const [shown] = replies();
    if (!ref || !shown) throw new Error("Nothing was posted.");
    shown.olderMs = 3_660_000;
    const edits = [1, 2, 3].map((text) => surface.edit(ref, answer(String(text))));
    await Promise.all(edits);
    expect(await failure(surface.edit(ref, answer("4")))).toMatchObject({ kind: "rate-limited" });
    discord.fail(/./, { kind: "rate-limit", retryAfterSeconds: 2, isGlobal: true });
    const { kind, retryAfterMs } = await failure(surface.post(thread, answer("two"), "b"));
    expect(kind).toBe("rate-limited");
    expect(retryAfterMs).toBeGreaterThanOrEqual(2_000);
  });

  test("a limit for all that the bot does holds back every client of it, but for what answers interactions", async () => {
    const { discord, surface, thread } = await scene();
    await surface.post(thread, answer("one"), "a");
    discord.fail(/^POST .*\/messages$/, { kind: "rate-limit", retryAfterSeconds: 0.5, isGlobal: true });
    const started = Date.now();
    expect((await failure(surface.post(thread, answer("two"), "b"))).kind).toBe("rate-limited");
    const before = discord.calls.length;
    const other = surfaceOf(discord);
    const { kind, retryAfterMs } = await failure(other.post(thread, answer("three"), "c"));
    expect(kind).toBe("rate-limited");
    expect(retryAfterMs).toBeGreaterThan(0);
    expect(discord.calls).toHaveLength(before);
    const rest = createRest({ token: discord.token, apiUrl: discord.url }, { timeoutMs: 5_000 });
    await expect(rest.post("/interactions/1/x/callback", { body: { type: 6 }, auth: false })).rejects.toThrow(
      "Unknown interaction",
    );
    expect(discord.calls).toHaveLength(before + 1);
    await patiently(() => other.post(thread, answer("three"), "c"));
    expect(Date.now() - started).toBeGreaterThanOrEqual(500);
  });

  test("what one process is told of that limit holds back the others, and refusals are counted", async () => {
    const { discord, thread } = await scene();
    const asked: boolean[] = [];
    let invalid = 0;
    let pausedMs = 0;
    // What the processes share.
    const requests: RequestLimit = {
      async acquire(isUrgent) {
        asked.push(isUrgent);
        return pausedMs > 0 ? { kind: "paused", ms: pausedMs } : { kind: "go" };
      },
      async pause(ms) {
        pausedMs = ms;
      },
      async countInvalid() {
        invalid += 1;
      },
    };
    const own = surfaceOf(discord, { requests });
    const [ref] = await own.post(thread, answer("one"), "a");
    if (ref) await own.edit(ref, answer("two"));
    expect([asked.at(0), asked.at(-1)]).toEqual([true, false]);
    // Another process was told of the pause, of which this one knows by what they share.
    pausedMs = 7_000;
    const before = discord.calls.length;
    const { kind, retryAfterMs } = await failure(own.post(thread, answer("three"), "b"));
    expect(kind).toBe("rate-limited");
    expect(retryAfterMs).toBeGreaterThanOrEqual(7_000);
    expect(discord.calls).toHaveLength(before);
    pausedMs = 0;
    discord.fail(/^POST .*\/messages$/, { kind: "rate-limit", retryAfterSeconds: 0.1, isGlobal: true });
    const another = surfaceOf(discord, { requests });
    expect((await failure(another.post(thread, answer("four"), "c"))).kind).toBe("rate-limited");
    expect({ pausedMs, invalid }).toEqual({ pausedMs: 100, invalid: 1 });
  });

  test("a request that comes too soon waits for its moment", async () => {
    const { discord, thread } = await scene();
    let held = 2;
    const requests: RequestLimit = {
      acquire: async () => (--held >= 0 ? { kind: "wait", ms: 5 } : { kind: "go" }),
      pause: async () => undefined,
      countInvalid: async () => undefined,
    };
    await surfaceOf(discord, { requests }).post(thread, answer("one"), "a");
    expect(held).toBeLessThan(0);
  });

  test("an answer calls those whom it names, and nobody whom its text does, also where it becomes a file", async () => {
    const { discord, surface, thread, replies } = await scene();
    const [ada, bob] = [discord.user("ada"), discord.user("bob")];
    const mentions = [ada.id, "U1", "everyone"];
    await surface.post(
      thread,
      { ...answer(`Ask <@${bob.id}> or @everyone.`), mentions, footer: "2 steps" },
      "a",
    );
    await surface.post(thread, { ...answer("long ".repeat(3_000)), mentions, footer: "2 steps" }, "b");
    const [short, long] = replies();
    expect(short?.content).toMatch(new RegExp(`\\n<@${ada.id}>\\n-# 2 steps$`));
    expect(long?.content).toMatch(new RegExp(`\\n<@${ada.id}>\\n-# .*2 steps$`));
    expect(long?.files).toHaveLength(1);
    for (const shown of [short, long]) expect(shown?.mentions).toEqual([ada.user]);
  });

  test("a reply stands where the message stands, calls its author alone, and begins no thread", async () => {
    const { discord, surface, thread } = await scene();
    const general = discord.channel("general");
    const [eve, ada] = [discord.user("eve"), discord.user("ada")];
    const said = eve.says(general, "<@BOT> hi");
    const ref = { ...thread, message: `${general.id}/${said.id}` };
    const text = `Not for you, <@${ada.id}>.`;
    if (!surface.replyTo) throw new Error("There is no way to reply.");
    await surface.replyTo(ref, text, "k");
    await surface.replyTo(ref, text, "k");
    const replied = general.messages.filter(({ author }) => author.isBot);
    expect(replied).toMatchObject([{ replyTo: { id: said.id }, mentions: [{ username: "eve" }] }]);
    expect(discord.threadOf(said)).toBeUndefined();
    discord.deny(general, "ReadMessageHistory");
    await surface.replyTo(ref, "Not now.", "l");
    expect(general.messages.at(-1)).toMatchObject({ content: "Not now.", mentions: [] });
  });

  test("a post that nobody received can be tried again later; one that broke may have arrived", async () => {
    const { discord, surface, thread } = await scene();
    discord.fail(/^POST .*\/messages$/, { kind: "http", status: 502 });
    expect((await failure(surface.post(thread, answer("x"), "k"))).kind).toBe("uncertain");
    await discord.close();
    // A connection that is still kept would break, which is not the same.
    await fetch(discord.url).catch(() => undefined);
    expect((await failure(surface.post(thread, answer("x"), "k"))).kind).toBe("rate-limited");
  });

  test("an answer that is none of Discord's leaves open whether a post has arrived", async () => {
    const { discord, surface, thread, replies } = await scene();
    discord.fail(/^POST .*\/messages$/, { kind: "http", status: 403 });
    expect(await failure(surface.post(thread, answer("x"), "k"))).toMatchObject({
      kind: "uncertain",
      message: "Discord did not confirm posting; it may have been done.",
    });
    await surface.post(thread, answer("x"), "k");
    expect(replies()).toHaveLength(1);
  });

  test("opens an archived thread", async () => {
    const { discord, surface, thread, root, replies } = await scene();
    const [ref] = await surface.post(thread, answer("one"), "a");
    const channel = discord.threadOf(root);
    if (!channel || !ref) throw new Error("There is no thread.");
    channel.isArchived = true;
    await surface.edit(ref, answer("uno"));
    expect(channel.isArchived).toBe(false);
    channel.isArchived = true;
    await patiently(() => surface.mark(ref, "answered"));
    channel.isArchived = true;
    await surface.post(thread, answer("two"), "b");
    expect(replies().map(({ content }) => content)).toEqual(["uno", "two"]);
  });
});

describe("status", () => {
  test("is that the bot types, in the thread that is made for it", async () => {
    const { discord, surface, thread, root } = await scene();
    await surface.status?.(thread, "is thinking…");
    await surface.status?.(thread, undefined);
    expect(discord.threadOf(root)?.name).toBe("do it");
    const typed = discord.calls.filter(({ call }) => call === `POST /channels/${root.id}/typing`);
    expect(typed).toHaveLength(1);
    const { changeMs, fadesMs } = surface.limits.status ?? { changeMs: 0, fadesMs: 0 };
    expect([changeMs > 5_000, changeMs + fadesMs < 10_000]).toEqual([true, true]);
  });

  test("is given up where the bot may not write, and not for a broken connection", async () => {
    const { discord, surface, thread, general } = await scene();
    await surface.post(thread, answer("one"), "a");
    discord.fail(/typing$/, { kind: "http", status: 502 });
    await surface.status?.(thread, "is thinking…");
    discord.deny(general, "SendMessagesInThreads");
    await expect(surface.status?.(thread, "is thinking…")).rejects.toThrow();
  });
});

describe("what Discord refuses", () => {
  test("once as unauthorised is asked again with the token", async () => {
    const { discord, surface, thread, replies } = await scene();
    await surface.post(thread, answer("one"), "a");
    const unauthorized = { kind: "refuse", status: 401, code: 0, message: "401: Unauthorized" } as const;
    discord.fail(/^POST .*\/messages$/, unauthorized);
    expect(await failure(surface.post(thread, answer("two"), "b"))).toMatchObject({
      kind: "forbidden",
      message: expect.stringContaining("DISCORD_TOKEN is no longer valid"),
    });
    await surface.post(thread, answer("three"), "c");
    expect(replies().map(({ content }) => content)).toEqual(["one", "three"]);
  });

  test("a thread that may not be made is told in the channel, with the permission that is missing", async () => {
    const { discord, surface, thread, general } = await scene();
    discord.deny(general, "CreatePublicThreads");
    const error = await failure(surface.post(thread, answer("Done."), "k"));
    await failure(surface.post(thread, answer("Done."), "k2"));
    expect(error.kind).toBe("forbidden");
    expect(error.message).toContain(
      "In #general the bot lacks Create Public Threads: grant it under Edit Channel",
    );
    const told = general.messages.filter(({ author }) => author === discord.bot);
    expect(told.map(({ content }) => content)).toEqual([
      "I cannot answer here. In #general the bot lacks Create Public Threads: grant it under Edit Channel → Permissions.",
    ]);
  });

  test.each([
    ["SendMessagesInThreads", "In #general the bot lacks Send Messages in Threads"],
    ["ViewChannel", "The bot may not see channel"],
  ] as const)("without %s it is said what is missing and where", async (permission, message) => {
    const { discord, surface, thread, general } = await scene();
    await surface.post(thread, answer("one"), "a");
    discord.deny(general, permission);
    const error = await failure(surface.post(thread, answer("two"), "b"));
    expect(error).toMatchObject({ kind: "forbidden" });
    expect(error.message).toContain(message);
    const told = general.messages.filter(({ author }) => author === discord.bot);
    expect(told.map(({ content }) => content)).toEqual(
      permission === "ViewChannel" ? [] : [expect.stringContaining(`I cannot answer here. ${message}`)],
    );
  });

  test("a locked thread, a closed conversation, a message that is gone", async () => {
    const { discord, surface, thread, root, ada } = await scene();
    const [ref] = await surface.post(thread, answer("one"), "a");
    const channel = discord.threadOf(root);
    if (!channel || !ref) throw new Error("There is no thread.");
    await surface.remove(ref);
    await surface.remove(ref);
    expect((await failure(surface.edit(ref, answer("x")))).kind).toBe("gone");
    const [kept] = await surface.post(thread, answer("two"), "d");
    channel.isLocked = true;
    expect(await failure(surface.post(thread, answer("x"), "b"))).toMatchObject({
      ...{ kind: "forbidden", isLiftable: true },
      message: expect.stringContaining("a moderator can unlock it"),
    });
    channel.isArchived = true;
    expect(await failure(surface.edit(kept ?? ref, answer("x")))).toMatchObject({ isLiftable: true });
    const direct = discord.direct(ada);
    ada.user.isClosed = true;
    const conversation = { platform: "discord", workspace: "dm", channel: direct.id, thread: direct.id };
    const closed = await failure(surface.post(conversation, answer("x"), "c"));
    expect(closed.message).toContain("that person takes no direct messages of the bot");
  });

  test("a thread that somebody has deleted, which is not made again", async () => {
    const { discord, surface, thread, root } = await scene();
    await surface.post(thread, answer("one"), "a");
    const channel = discord.threadOf(root);
    if (channel) discord.deleteThread(channel);
    expect((await failure(surface.post(thread, answer("two"), "b"))).kind).toBe("gone");
    expect(discord.threadOf(root)).toBeUndefined();
  });

  test("a server with too many threads, whose people are told in the channel", async () => {
    const { discord, surface, thread, general } = await scene();
    const tooMany = { kind: "refuse", status: 400, code: 160_006, message: "Maximum number" } as const;
    discord.fail(/^POST .*\/threads/, tooMany);
    expect((await failure(surface.post(thread, answer("one"), "a"))).kind).toBe("forbidden");
    expect(general.messages.at(-1)?.content).toContain("the server has too many active threads");
  });

  test("a start that is deleted before anything was said", async () => {
    const { surface, thread, ada, root } = await scene();
    ada.deletes(root);
    expect((await failure(surface.post(thread, answer("x"), "k"))).kind).toBe("gone");
  });
});

describe("A private notice", () => {
  test("is a direct message that names the thread, and nothing stands in the thread", async () => {
    const { discord, surface, ada, thread, replies } = await scene();
    await surface.tellPrivately?.(thread, ada.user.id, "You may not stop this.");
    expect(discord.direct(ada).messages.map(({ content }) => content)).toEqual([
      `You may not stop this. (<#${thread.thread}>)`,
    ]);
    expect(replies()).toEqual([]);
  });

  test("is not said to whoever takes no direct messages", async () => {
    const { discord, surface, thread, replies } = await scene();
    const eve = discord.user("eve");
    eve.user.isClosed = true;
    await surface.tellPrivately?.(thread, eve.user.id, "You may not stop this.");
    expect(discord.direct(eve).messages).toEqual([]);
    expect(replies()).toEqual([]);
  });
});

describe("edit", () => {
  test("replaces text and buttons, and cuts what is too long", async () => {
    const { surface, thread, replies } = await scene();
    const [ref] = await surface.post(thread, { kind: "progress", markdown: "working", stoppable: true }, "k");
    if (!ref) throw new Error("Nothing was posted.");
    expect(replies()[0]?.components).toHaveLength(1);
    await surface.edit(ref, { kind: "progress", markdown: "x".repeat(5_000) });
    expect(replies()[0]).toMatchObject({ components: [] });
    expect(replies()[0]?.content).toHaveLength(2_000);
    expect(replies()[0]?.content).toMatch(/\n…$/);
  });

  test("five actions and Stop fit", async () => {
    const { surface, thread, replies } = await scene();
    const actions = Array.from({ length: 5 }, (_action, index) => {
      return { id: `a${index}`, label: "L".repeat(90), style: "plain" } as const;
    });
    await surface.post(thread, { ...answer("?"), actions, stoppable: true }, "k");
    expect(replies()[0]?.components.map(({ components }) => components.length)).toEqual([5, 1]);
  });
});

describe("mark", () => {
  test("takes the place of the earlier one, and leaves people's own reactions", async () => {
    const { surface, root, rootRef, ada } = await scene();
    ada.reacts("👀", root);
    await patiently(() => surface.mark(rootRef, "waiting", { place: 12 }));
    expect([...root.reactions.keys()]).toEqual(["👀", "⏳", "🔟"]);
    await patiently(() => surface.mark(rootRef, "taken", { paused: true }));
    expect([...root.reactions.keys()]).toEqual(["👀", "⏸️"]);
    await patiently(() => surface.mark(rootRef, "taken"));
    await patiently(() => surface.mark(rootRef, "answered"));
    expect([...root.reactions].map(([emoji, users]) => [emoji, users.size])).toEqual([
      ["👀", 1],
      ["✅", 1],
    ]);
  });

  test("is one call where there is no earlier one", async () => {
    const { discord, surface, root, rootRef } = await scene();
    const before = discord.calls.length;
    await surface.mark(rootRef, "taken", { isFirst: true });
    expect([...root.reactions.keys()]).toEqual(["👀"]);
    expect(discord.calls.slice(before).map(({ call }) => call)).toEqual([expect.stringMatching(/^PUT /)]);
  });

  test("does not stay beside the one that came while it was made", async () => {
    const { discord, surface, root, rootRef } = await scene();
    discord.fail(/^PUT /, { kind: "late", ms: 100 });
    await Promise.all([
      patiently(() => surface.mark(rootRef, "taken", { isFirst: true })),
      patiently(() => surface.mark(rootRef, "answered")),
    ]);
    // Whoever has shown the earlier one shows again what holds by now.
    await patiently(() => surface.mark(rootRef, "answered"));
    expect([...root.reactions.keys()]).toEqual(["✅"]);
  });
});

test("marks are those of the configuration, and none where it says so", async () => {
  const { discord, root, rootRef } = await scene();
  const surface = surfaceOf(discord, { marks: { taken: "🤖", waiting: "" } });
  await surface.mark(rootRef, "waiting");
  expect([...root.reactions.keys()]).toEqual([]);
  await patiently(() => surface.mark(rootRef, "taken"));
  expect([...root.reactions.keys()]).toEqual(["🤖"]);
});

test("a person is a member with its roles by now, and external after having left", async () => {
  const { surface, thread, ada } = await scene();
  expect(await surface.person?.(thread, ada.id)).toMatchObject({ name: "ada", standing: "member" });
  expect(await surface.person?.(thread, "404")).toMatchObject({ standing: "external", roles: [] });
});

test("a message has the address at which people find it", async () => {
  const { discord, surface, thread, rootRef, root, general } = await scene();
  const server = discord.guild.id;
  expect(await surface.linkTo?.(rootRef)).toBe(
    `https://discord.com/channels/${server}/${general.id}/${root.id}`,
  );
  const [ref] = await surface.post(thread, answer("one"), "a");
  expect(ref && (await surface.linkTo?.(ref))).toMatch(`https://discord.com/channels/${server}/${root.id}/`);
});

test("a channel has the name that people see, a direct conversation none of its own", async () => {
  const { surface, thread } = await scene();
  expect(await surface.channelName?.(thread)).toBe("general");
  expect(await surface.channelName?.({ ...thread, workspace: "dm" })).toBe("direct messages");
});

describe("files", () => {
  test("bring the bytes into the thread, once", async () => {
    const { discord, surface, thread, replies } = await scene();
    const file = { name: "chart.png", data: new Uint8Array([1, 2, 3]) };
    const [ref] = await surface.upload(thread, file, "k");
    await surfaceOf(discord).upload(thread, file, "k");
    expect(replies()).toHaveLength(1);
    // The answer that follows is what notifies people.
    expect(replies()[0]?.flags).toBe(MessageFlags.SuppressNotifications);
    expect(replies()[0]?.files).toMatchObject([{ name: "chart.png", content: Buffer.from([1, 2, 3]) }]);
    expect(ref?.message).toBe(`${thread.thread}/${replies()[0]?.id}`);
  });

  test("that are too large are refused with the reason", async () => {
    const { surface, thread } = await scene({ maxFileBytes: 10 });
    const error = await failure(surface.upload(thread, { name: "big.bin", data: new Uint8Array(11) }, "k"));
    expect(error).toMatchObject({ kind: "rejected" });
    expect(error.message).toContain("the file big.bin: the file is larger than the server allows");
  });
});

describe("the thread of a message", () => {
  test("is told for its start, for what is in it, and for direct messages; not for what is gone", async () => {
    const { discord, surface, thread, rootRef, ada } = await scene();
    const [ref] = await surface.post(thread, answer("one"), "a");
    if (!ref) throw new Error("Nothing was posted.");
    expect(await surface.threadOf(rootRef)).toEqual(thread);
    expect(await surface.threadOf(ref)).toEqual(thread);
    const direct = ada.says(discord.direct(ada), "hi");
    const place = { platform: "discord", workspace: "dm", channel: direct.channel.id };
    expect(await surface.threadOf({ ...place, message: `${direct.channel.id}/${direct.id}` })).toEqual({
      ...place,
      thread: direct.channel.id,
    });
    await surface.remove(ref);
    expect(await surface.threadOf(ref)).toBeUndefined();
  });

  test("what people wrote before it is read, oldest first, without our own messages", async () => {
    const { discord, surface, general, thread } = await scene();
    const bob = discord.user("bob", { nick: "Bob B.", roles: ["3"] });
    const started = discord.startThread(bob.says(general, "lunch?"), "lunch");
    const place = { ...thread, thread: started.id };
    for (const text of ["zero", "one"]) bob.says(started, text);
    bob.says(started, "two", { files: [{ name: "menu.pdf", content: "x", mediaType: "application/pdf" }] });
    await surface.post(place, answer("mine"), "k");
    discord.user("robot", { bot: true }).says(started, "beep");
    const call = bob.says(started, "<@BOT> well?");
    const before = { platform: "discord", workspace: thread.workspace, channel: general.id };
    const read = await surface.earlier?.(place, { ...before, message: `${started.id}/${call.id}` }, 5);
    expect(read?.map(({ author, text }) => [author.name, author.standing, author.roles, text])).toEqual([
      ["Bob B.", "member", ["3"], "lunch?"],
      ["Bob B.", "member", ["3"], "one"],
      ["Bob B.", "member", ["3"], "two\n(file: menu.pdf)"],
      ["robot", "bot", [], "beep"],
    ]);
    expect(read?.[2]?.attachments).toMatchObject([
      { name: "menu.pdf", mediaType: "application/pdf", bytes: 1 },
    ]);
  });
});

test("each thread has a budget of its own", async () => {
  const { surface, thread, rootRef } = await scene();
  expect(surface.budgetPlace?.(thread, "messages")).toBe(thread.thread);
  expect(surface.budgetPlace?.({ ...rootRef, message: `${thread.thread}/5` }, "edits")).toBe(thread.thread);
});

test("without the intent, an answer in a server says how to go on; elsewhere it does not", async () => {
  const { discord, thread, replies, ada } = await scene({ messageContent: false });
  const surface = surfaceOf(discord, { messageContent: false });
  await surface.post(thread, { ...answer("Done."), footer: "2 s" }, "k");
  expect(replies()[0]?.content).toBe("Done.\n-# 2 s · Mention me or reply to me to go on");
  const direct = discord.direct(ada);
  await surface.post(
    { platform: "discord", workspace: "dm", channel: direct.id, thread: direct.id },
    answer("Hi."),
    "d",
  );
  expect(direct.messages[0]?.content).toBe("Hi.");
});

test("without the intent, an answer is found by the words that it has with that", async () => {
  const { discord, thread } = await scene({ messageContent: false });
  const surface = surfaceOf(discord, { messageContent: false });
  const since = Date.now();
  const messages = [{ ...answer("Done."), footer: "2 s" }, answer("So.")];
  for (const [index, message] of messages.entries()) {
    const posted = await surface.post(thread, message, `k${index}`);
    expect(await surface.find?.(thread, `k${index}`, since, { as: [message] })).toEqual(posted);
  }
});

describe("a thread that is begun in a forum", () => {
  /** A forum with a tag for moderators and one for all. */
  async function forum(requiresTag: boolean, forumTags?: { working?: string; done?: string }) {
    const { discord } = await scene();
    const surface = surfaceOf(discord, { forumTags });
    const channel = discord.channel("questions", { type: ChannelType.GuildForum });
    const tags = [
      { id: "100000000000000001", name: "official", moderated: true },
      { id: "100000000000000002", name: "build", moderated: false },
    ];
    channel.forum = { tags, requiresTag };
    const place = { platform: "discord", workspace: discord.guild.id, channel: channel.id };
    const posts = () => discord.threadsOf(channel);
    return { discord, channel, surface, place, posts };
  }

  test.each([
    ["a tag that it may use where the forum wants one", true, ["100000000000000002"]],
    ["no tag where none is wanted", false, []],
  ])("is a post with %s", async (_what, requiresTag, tags) => {
    const { surface, place, posts } = await forum(requiresTag);
    const opened = await surface.openThread?.(place, "**Check** the build\nplease", "k");
    const [post] = posts();
    expect(post).toMatchObject({ name: "Check the build", tags, messages: [{ id: post?.id }] });
    expect(opened).toMatchObject({ thread: { ...place, thread: post?.id }, ref: { channel: place.channel } });
    if (!opened) return;
    await surface.post(opened.thread, answer("It is green."), "a");
    await patiently(() => surface.mark(opened.ref, "answered"));
    expect(post?.messages.map(({ content }) => content)).toEqual([
      "**Check** the build\nplease",
      "It is green.",
    ]);
  });

  test("is read from its first message on, however many follow", async () => {
    const { discord, surface, place, posts } = await forum(false);
    const opened = (await surface.openThread?.(place, "Check the build", "k")) ?? expect.fail();
    const [post] = posts();
    const [first] = post?.messages ?? [];
    if (!post || !first) throw new Error("There is no post.");
    const bob = discord.user("bob");
    first.author = bob.user;
    for (let number = 1; number <= 6; number += 1) bob.says(post, `reply ${number}`);
    const call = bob.says(post, "<@BOT> well?");
    const read = async (limit: number) =>
      (await surface.earlier?.(opened.thread, { ...place, message: `${post.id}/${call.id}` }, limit))?.map(
        ({ text }) => text,
      );
    expect(await read(3)).toEqual(["Check the build", "reply 5", "reply 6"]);
    expect(await read(50)).toEqual(["Check the build", ...[1, 2, 3, 4, 5, 6].map((n) => `reply ${n}`)]);
  });

  test("is not begun again by whoever does not know that it was", async () => {
    const { surface, place, posts } = await forum(true);
    const since = Date.now() - 1_000;
    const [one, two] = [
      await surface.openThread?.(place, "Check the build", "k", since),
      await surface.openThread?.(place, "Check the build", "k", since),
    ];
    expect(two).toEqual(one);
    expect(posts()).toHaveLength(1);
  });

  test("has the tags that are configured for how it stands, besides those of people", async () => {
    const { channel, surface, place, posts } = await forum(true, {
      working: "In Progress",
      done: "answered",
    });
    channel.forum?.tags.push(
      { id: "100000000000000003", name: "In progress", moderated: false },
      { id: "100000000000000004", name: "Answered", moderated: false },
    );
    const opened = (await surface.openThread?.(place, "Check the build", "k")) ?? expect.fail();
    const shown: (string[] | undefined)[] = [];
    for (const mark of ["waiting", "taken", "answered", "taken", "stopped"] as const) {
      await patiently(() => surface.mark(opened.ref, mark));
      shown.push(posts()[0]?.tags?.map((id) => id.slice(-1)));
    }
    expect(shown).toEqual([["2", "3"], ["2", "3"], ["2", "4"], ["2", "3"], ["2"]]);
  });

  test("is marked all the same where the bot may not change the tags of a person's post", async () => {
    const { discord, channel, surface, place, posts } = await forum(false, { done: "build" });
    const opened = (await surface.openThread?.(place, "Check the build", "k")) ?? expect.fail();
    const [first] = posts()[0]?.messages ?? [];
    if (!first) throw new Error("The post is empty.");
    first.author = discord.user("ada").user;
    await patiently(() => surface.mark(opened.ref, "answered"));
    expect([[...first.reactions.keys()], posts()[0]?.tags]).toEqual([["✅"], []]);
    expect(channel.messages).toEqual([]);
  });
});
