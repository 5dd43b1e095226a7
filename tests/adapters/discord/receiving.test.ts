import { setTimeout as delay } from "node:timers/promises";
import { ChannelType } from "discord.js";
import { pino } from "pino";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createChannels } from "../../../src/adapters/discord/connection/channels.ts";
import { readTime } from "../../../src/adapters/discord/connection/ids.ts";
import { createPeople } from "../../../src/adapters/discord/connection/people.ts";
import { createRest } from "../../../src/adapters/discord/connection/rest.ts";
import { EventReader } from "../../../src/adapters/discord/inbound/events.ts";
import { buttonRows } from "../../../src/adapters/discord/surface/buttons.ts";
import { type ConnectionChange, connections, reconnects } from "../../../src/chat/adapter.ts";
import type { OpenMessage } from "../../../src/chat/downtime.ts";
import type { InboundEvent, IntakeResult } from "../../../src/chat/inbound.ts";
import {
  adapterFor,
  fakeDiscord,
  startAdapter,
  nobodyWasHere,
  recordingIntake,
  surfaceOf,
} from "./connected-adapter.ts";

/** Something that always comes in, behind whatever should not. */
async function last(discord: Awaited<ReturnType<typeof fakeDiscord>>): Promise<void> {
  discord.user("eve").says(discord.channel("end"), "<@BOT> the end");
}
const untilEnd = (events: readonly InboundEvent[]) =>
  events.filter((event) => event.kind !== "message" || event.text !== "the end");

describe("messages", () => {
  test("a mention comes in without the mention; its thread has the id of the message", async () => {
    const discord = await fakeDiscord();
    const { intake } = await startAdapter(discord);
    const general = discord.channel("general");
    const ada = discord.user("ada", { nick: "Ada L.", roles: ["111"] });
    const message = ada.says(general, "<@BOT>: is 1 < 2?");
    const place = { platform: "discord", workspace: discord.guild.id, channel: general.id };
    expect(await intake.first(1)).toEqual([
      {
        kind: "message",
        thread: { ...place, thread: message.id },
        ref: { ...place, message: `${general.id}/${message.id}` },
        author: { id: ada.id, name: "Ada L.", standing: "member", roles: ["111"] },
        text: "is 1 < 2?",
        attachments: [],
        addressed: "mention",
        at: readTime(message.id),
      } satisfies InboundEvent,
    ]);
  });

  test("a mention of the bot's role, which has its name, is one of the bot; other roles are not", async () => {
    const discord = await fakeDiscord();
    const { intake } = await startAdapter(discord);
    const [general, ada] = [discord.channel("general"), discord.user("ada")];
    ada.says(general, "<@&4711> lunch?");
    ada.says(general, `<@&${discord.guild.botRole}> lunch?`);
    expect(await intake.first(1)).toMatchObject([{ text: "lunch?", addressed: "mention" }]);
    expect(intake.events).toHaveLength(1);
  });

  test("in a thread no mention is needed; the channel is the one that the thread is in", async () => {
    const discord = await fakeDiscord();
    const general = discord.channel("general");
    const ada = discord.user("ada");
    const thread = discord.startThread(ada.says(general, "about tabs"), "about tabs");
    const { intake } = await startAdapter(discord);
    const message = ada.says(thread, "use tabs");
    ada.says(thread, "and now <@BOT> go on");
    const place = { workspace: discord.guild.id, channel: general.id };
    expect(await intake.first(2)).toMatchObject([
      {
        text: "use tabs",
        addressed: "follow-up",
        thread: { ...place, thread: thread.id },
        ref: { ...place, message: `${thread.id}/${message.id}` },
      },
      { text: "and now @heddle go on", addressed: "mention", thread: { thread: thread.id } },
    ]);
  });

  test("direct messages and voice channels are a thread as they are", async () => {
    const discord = await fakeDiscord();
    const { intake } = await startAdapter(discord);
    const ada = discord.user("ada");
    const direct = discord.direct(ada);
    ada.says(direct, "hi");
    const voice = discord.channel("voice", { type: ChannelType.GuildVoice });
    const [first] = await intake.first(1);
    ada.says(voice, "not for you");
    ada.says(voice, "<@BOT> hi");
    const [, second] = await intake.first(2);
    expect(first).toMatchObject({
      addressed: "direct",
      thread: { workspace: "dm", channel: direct.id, thread: direct.id },
      author: { name: "ada", standing: "member", roles: [] },
    });
    expect(second).toMatchObject({ addressed: "mention", thread: { channel: voice.id, thread: voice.id } });
  });

  test("a reply brings along what it answers", async () => {
    const discord = await fakeDiscord();
    const { intake } = await startAdapter(discord);
    const general = discord.channel("general");
    const claim = discord.user("bob", { roles: ["7"] }).says(general, "2 + 2 = 5");
    discord.user("ada").says(general, "<@BOT> is that so?", { replyTo: claim });
    expect(await intake.first(1)).toMatchObject([
      {
        text: "is that so?",
        about: {
          text: "2 + 2 = 5",
          author: { name: "bob", standing: "member", roles: ["7"] },
          at: readTime(claim.id),
        },
      },
    ]);
  });

  test("a forwarded message comes in as a quotation of somebody else, with its cards and files", async () => {
    const discord = await fakeDiscord();
    const [general, ada, bob] = [discord.channel("general"), discord.user("ada"), discord.user("bob")];
    const thread = discord.startThread(ada.says(general, "about builds"), "about builds");
    const { intake } = await startAdapter(discord);
    const alert = bob.says(discord.channel("alerts"), "It broke", {
      embeds: [{ title: "Build 7", description: "red" }],
      files: [{ name: "log.txt", content: "x" }],
    });
    const forward = ada.says(thread, "", { forwards: alert });
    const quoted = {
      text: "It broke\nBuild 7\nred\n(file: log.txt)",
      author: { standing: "external" },
      attachments: [{ name: "log.txt", bytes: 1 }],
    };
    expect(await intake.first(1)).toMatchObject([
      { text: "", addressed: "follow-up", about: quoted, author: { name: "ada" } },
    ]);
    ada.says(thread, "<@BOT> look into this", { replyTo: forward });
    const [, reply] = await intake.first(2);
    expect(reply).toMatchObject({
      about: {
        text: `(forwarded, in somebody else's words)\n${quoted.text}`,
        author: { name: "ada" },
        attachments: quoted.attachments,
      },
    });
  });

  test("of the messages that people edit all day, only the latest are remembered", async () => {
    const rest = createRest({ token: "t" }, { timeoutMs: 1 });
    const [channels, people] = [createChannels(rest), createPeople(rest)];
    channels.learn({ id: "7", type: ChannelType.GuildText, name: "general" }, "9");
    const identity = { applicationId: "1", botId: "2" };
    const reader = new EventReader({ identity, channels, people, messageContent: true, stopReactions: [] });
    const edited = (id: number) => ({
      ...{
        id: String(id),
        channel_id: "7",
        guild_id: "9",
        type: 0,
        content: "v2",
        mentions: [],
        attachments: [],
      },
      ...{ author: { id: "3", username: "ada" }, member: { roles: [] } },
      edited_timestamp: "2026-01-01T00:00:00Z",
    });
    for (let id = 1; id <= 10_001; id += 1) await reader.readUpdated(edited(id));
    expect(await reader.readDeleted({ id: "1", channel_id: "7" })).toEqual([]);
    expect(await reader.readDeleted({ id: "2", channel_id: "7" })).toMatchObject([{ kind: "delete" }]);
  });

  test("an edit and a deletion come in; previews of links and deletions of unknown messages do not", async () => {
    const discord = await fakeDiscord();
    const general = discord.channel("general");
    const ada = discord.user("ada");
    const old = ada.says(general, "<@BOT> long ago");
    const { intake } = await startAdapter(discord);
    const message = ada.says(general, "<@BOT> use tabs");
    await intake.first(1);
    discord.unfurl(message);
    ada.edits(message, "<@BOT> use spaces");
    discord.unfurl(message);
    ada.deletes(message);
    ada.deletes(old);
    const place = { platform: "discord", workspace: discord.guild.id, channel: general.id };
    const about = {
      thread: { ...place, thread: message.id },
      ref: { ...place, message: `${general.id}/${message.id}` },
      author: { name: "ada" },
    };
    await intake.first(3);
    await last(discord);
    await intake.first(4);
    expect(untilEnd(intake.events).slice(1)).toMatchObject([
      { kind: "edit", ...about, text: "use spaces" },
      { kind: "delete", ...about },
    ]);
  });

  test("a thread that is unlocked is told of, so that what was kept for it is sent; a locked one is not", async () => {
    const discord = await fakeDiscord();
    const told: string[] = [];
    await startAdapter(discord, {
      onWritable: async ({ channel, thread }) => void told.push(`${channel} ${thread}`),
    });
    const general = discord.channel("general");
    const [one, other] = ["one", "other"].map((text) =>
      discord.startThread(discord.user("ada").says(general, text), text),
    );
    if (!one || !other) expect.fail("There are no threads.");
    discord.setLocked(one, true);
    discord.setLocked(other, true);
    discord.setLocked(one, false);
    await discord.until(() => told.length > 0);
    expect(told).toEqual([`${general.id} ${one.id}`]);
  });

  test("a mention that an edit adds is a message too, once", async () => {
    const discord = await fakeDiscord();
    const { intake } = await startAdapter(discord);
    const [general, ada] = [discord.channel("general"), discord.user("ada")];
    const message = ada.says(general, "count the lines");
    ada.edits(message, "<@BOT> count the lines");
    expect(await intake.first(2)).toMatchObject([
      { kind: "edit", text: "count the lines" },
      { kind: "message", text: "count the lines", addressed: "mention", thread: { thread: message.id } },
    ]);
    ada.edits(message, "<@BOT> count the words");
    await last(discord);
    expect(untilEnd(await intake.first(4)).slice(2)).toMatchObject([
      { kind: "edit", text: "count the words" },
    ]);
  });

  test("a message with only a file comes in, also when its words are taken away later", async () => {
    const discord = await fakeDiscord();
    const { intake } = await startAdapter(discord);
    const ada = discord.user("ada");
    const files = [{ name: "a.csv", content: "1" }];
    ada.says(discord.direct(ada), "", { files });
    ada.edits(ada.says(discord.direct(ada), "delete it", { files }), "");
    expect(await intake.first(3)).toMatchObject([
      { kind: "message", text: "", attachments: [{ name: "a.csv" }] },
      { kind: "message", text: "delete it" },
      { kind: "edit", text: "" },
    ]);
  });

  test("talk, the bot's own messages and progress of another Heddle do not come in; other bots are named as such", async () => {
    const discord = await fakeDiscord();
    const { intake } = await startAdapter(discord);
    const general = discord.channel("general");
    const root = discord.user("ada").says(general, "lunch?");
    const place = { platform: "discord", workspace: discord.guild.id, channel: general.id };
    const surface = surfaceOf(discord);
    const [ref] = await surface.post(
      { ...place, thread: root.id },
      { kind: "answer", markdown: "I am" },
      "k",
    );
    if (!ref) throw new Error("Nothing was posted.");
    await surface.edit(ref, { kind: "answer", markdown: "I was" });
    const robot = discord.user("robot", { bot: true });
    const rate = { id: "rate", label: "👍", style: "plain" } as const;
    robot.says(general, "<@BOT> working", { components: buttonRows({ stoppable: true }) });
    robot.says(general, "<@BOT> hello", { components: buttonRows({ actions: [rate] }) });
    expect(await intake.first(1)).toMatchObject([{ text: "hello", author: { standing: "bot" } }]);
  });

  test("whoever has not accepted the rules of the server is a guest", async () => {
    const discord = await fakeDiscord();
    const { intake } = await startAdapter(discord);
    discord.user("new", { pending: true }).says(discord.channel("general"), "<@BOT> hi");
    expect(await intake.first(1)).toMatchObject([{ author: { standing: "guest" } }]);
  });

  test("names are shown for mentions and emoji", async () => {
    const discord = await fakeDiscord();
    const { intake } = await startAdapter(discord);
    const bob = discord.user("bob");
    discord.user("ada").says(discord.channel("general"), `<@BOT> ask <@${bob.id}> <:party:123> <@BOT>`);
    expect(await intake.first(1)).toMatchObject([{ text: "ask @bob :party:" }]);
  });

  test("without the intent what does not mention the bot has no text, and edits of it change nothing", async () => {
    const discord = await fakeDiscord({ messageContent: false });
    const general = discord.channel("general");
    const ada = discord.user("ada");
    const thread = discord.startThread(ada.says(general, "t"), "t");
    const { intake } = await startAdapter(discord, { messageContent: false });
    const message = ada.says(thread, "secret");
    ada.edits(message, "more secret");
    ada.says(thread, "<@BOT> hello");
    expect(await intake.first(2)).toMatchObject([
      { kind: "message", text: "", addressed: "follow-up" },
      { kind: "message", text: "hello", addressed: "mention" },
    ]);
  });
});

describe("files", () => {
  test("come as handles that the surface fetches, also after their address has expired", async () => {
    const discord = await fakeDiscord();
    const { intake } = await startAdapter(discord);
    const message = discord
      .user("ada")
      .says(discord.channel("general"), "<@BOT> read this", { files: [{ name: "a b.csv", content: "1,2" }] });
    const [event] = await intake.first(1);
    const [file] = event?.kind === "message" ? event.attachments : [];
    if (!file) throw new Error("There is no file.");
    expect(file).toMatchObject({ name: "a b.csv", mediaType: "text/plain", bytes: 3 });
    const surface = surfaceOf(discord);
    const read = async () =>
      Buffer.concat(
        await Array.fromAsync(surface.download?.(file, AbortSignal.timeout(5_000)) ?? []),
      ).toString();
    expect(await read()).toBe("1,2");
    discord.expireFiles(message);
    expect(await read()).toBe("1,2");
  });

  test("are fetched from the CDN alone", async () => {
    const discord = await fakeDiscord();
    const file = {
      name: "x",
      mediaType: "text/plain",
      bytes: 1,
      handle: "http://169.254.169.254/latest/meta-data",
    };
    const read = Array.fromAsync(surfaceOf(discord).download?.(file, AbortSignal.timeout(5_000)) ?? []);
    await expect(read).rejects.toThrow("The file x is not on Discord's CDN, so it is not fetched.");
  });
});

describe("A reaction that gives a message to the agent", () => {
  async function reacted(mayAsk = true) {
    const discord = await fakeDiscord();
    const general = discord.channel("general");
    const [ada, bob] = [discord.user("ada"), discord.user("bob")];
    const alert = bob.says(general, "the build is red");
    const { intake } = await startAdapter(discord, { startReactions: ["🤖"], mayAsk: () => mayAsk });
    const asked = () => general.messages.filter(({ content }) => content.includes("asked by"));
    return { discord, general, ada, alert, intake, asked };
  }

  test("asks in the name of whoever put it there, once, and quotes the message", async () => {
    const { discord, general, ada, alert, intake, asked } = await reacted();
    ada.reacts("🤖", alert);
    const [event] = await intake.first(1);
    const [question] = asked();
    expect(question?.content).toContain(`asked by <@${ada.id}> · about a message of bob`);
    const place = { platform: "discord", workspace: discord.guild.id, channel: general.id };
    expect(event).toMatchObject({
      ...{ kind: "message", thread: { ...place, thread: question?.id }, addressed: "mention" },
      author: { id: ada.id, name: "ada" },
      about: { author: { name: "bob" }, text: "the build is red" },
    });
    // As after a resumed connection.
    ada.reacts("🤖", alert);
    await intake.first(2);
    expect(asked()).toHaveLength(1);
    expect(intake.events[1]).toMatchObject({
      ref: { message: expect.stringContaining(question?.id ?? "-") },
    });
  });

  test("by somebody who may not ask does nothing, nor does another one", async () => {
    const closed = await reacted(false);
    closed.ada.reacts("🤖", closed.alert);
    closed.ada.reacts("🛑", closed.alert);
    expect(await closed.intake.first(1)).toMatchObject([{ kind: "stop" }]);
    expect(closed.asked()).toEqual([]);
    const open = await reacted();
    open.ada.reacts("👀", open.alert);
    open.ada.reacts("🛑", open.alert);
    expect(await open.intake.first(1)).toMatchObject([{ kind: "stop" }]);
    expect(open.asked()).toEqual([]);
  });
});

describe("A reaction that Discord lets come to nothing", () => {
  test("at a message that is gone is told the log, in one sentence, and nothing is looked for again", async () => {
    const discord = await fakeDiscord();
    const general = discord.channel("general");
    const [ada, bob] = [discord.user("ada"), discord.user("bob")];
    const alert = bob.says(general, "the build is red");
    const logged: unknown[][] = [];
    const note = (...line: unknown[]) => void logged.push(line);
    const log = Object.assign(pino({ level: "silent" }), { warn: note, error: note });
    const { intake } = await startAdapter(discord, { startReactions: ["🤖"], log });
    const received = () =>
      intake.events.map((event) => (event.kind === "message" ? event.ref.message : event.kind));
    bob.deletes(alert);
    ada.reacts("🤖", alert);
    const next = bob.says(general, "<@BOT> look at the build");
    await expect.poll(received).toContainEqual(expect.stringContaining(next.id));
    expect(logged).toEqual([
      [
        "A reaction gave a message to the agent, and nothing came of it. Discord refuses answering a reaction: the message no longer exists (10008).",
      ],
    ]);
  });
});

describe("stops", () => {
  test("a stop reaction stops the thread of a message that nobody has seen; other reactions do not", async () => {
    const discord = await fakeDiscord();
    const general = discord.channel("general");
    const ada = discord.user("ada");
    const root = ada.says(general, "<@BOT> do it");
    const thread = discord.startThread(root, "do it");
    const reply = ada.says(thread, "hm");
    const direct = ada.says(discord.direct(ada), "hi");
    const { intake } = await startAdapter(discord);
    ada.reacts("👀", root);
    ada.reacts("🛑", root);
    await intake.first(1);
    ada.reacts("⏹", reply);
    await intake.first(2);
    ada.reacts("halt", direct);
    const place = { platform: "discord", workspace: discord.guild.id, channel: general.id };
    expect(await intake.first(3)).toMatchObject([
      {
        kind: "stop",
        target: { thread: { ...place, thread: root.id } },
        author: { id: ada.id, name: "ada" },
      },
      { kind: "stop", target: { thread: { ...place, thread: thread.id } } },
      {
        kind: "stop",
        target: { thread: { workspace: "dm", thread: direct.channel.id } },
        author: { name: "ada" },
      },
    ]);
    expect(intake.events[0]?.at).toBeGreaterThanOrEqual(readTime(root.id));
  });

  test("the bot's own stopped mark is no stop", async () => {
    const discord = await fakeDiscord();
    const { intake } = await startAdapter(discord);
    const general = discord.channel("general");
    const message = discord.user("ada").says(general, "hm");
    const place = { platform: "discord", workspace: discord.guild.id, channel: general.id };
    await surfaceOf(discord).mark({ ...place, message: `${general.id}/${message.id}` }, "stopped");
    await last(discord);
    await intake.first(1);
    expect(untilEnd(intake.events)).toEqual([]);
  });
});

describe("a place that is gone", () => {
  type Discord = Awaited<ReturnType<typeof fakeDiscord>>;
  type Channel = ReturnType<Discord["channel"]>;
  test.each<
    [what: string, remove: (discord: Discord, places: { general: Channel; thread: Channel }) => void]
  >([
    ["a deleted thread", (discord, { thread }) => discord.deleteThread(thread)],
    ["a deleted channel", (discord, { general }) => discord.deleteChannel(general)],
    [
      "a channel that the bot may no longer see",
      (discord, { general }) => discord.deny(general, "ViewChannel"),
    ],
    ["a server that has removed the bot", (discord) => discord.removeBot(discord.guild)],
  ])("%s stops what works there, and nothing else", async (_what, remove) => {
    const discord = await fakeDiscord();
    const [general, ada] = [discord.channel("general"), discord.user("ada")];
    const root = ada.says(general, "<@BOT> work");
    const place = { platform: "discord", workspace: discord.guild.id, channel: general.id };
    const busy = { ...place, thread: root.id };
    const ref = { ...place, message: `${general.id}/${root.id}` };
    const elsewhere = { ...place, workspace: "1", channel: "2" };
    const open: OpenMessage[] = [
      { thread: busy, ref },
      { thread: { ...elsewhere, thread: "3" }, ref: { ...elsewhere, message: "2/3" } },
    ];
    const thread = discord.startThread(root, "work");
    const downtime = {
      ...nobodyWasHere,
      open: async (_platform: string, workspaces: readonly string[]) =>
        open.filter((one) => workspaces.includes(one.ref.workspace)),
    };
    const { intake } = await startAdapter(discord, { downtime });
    discord.removeBot(discord.guild, true);
    discord.deny(discord.channel("other"), "SendMessages");
    remove(discord, { general, thread });
    const [stop] = await intake.first(1);
    expect(stop).toMatchObject({
      ...{ kind: "stop", target: { thread: busy } },
      author: {
        standing: "operator",
        name: expect.stringMatching(/^Discord, where the (?:thread|channel|bot) /),
      },
    });
    expect(intake.events).toHaveLength(1);
  });

  test("while nobody listened is found as well", async () => {
    const discord = await fakeDiscord();
    const [general, ada] = [discord.channel("general"), discord.user("ada")];
    const root = ada.says(general, "<@BOT> work");
    const thread = discord.startThread(root, "work");
    const progress = discord.user("eve").says(thread, "progress");
    const place = { platform: "discord", workspace: discord.guild.id, channel: general.id };
    const busy = { ...place, thread: root.id };
    discord.deleteThread(thread);
    const downtime = {
      ...nobodyWasHere,
      lastConnectedAt: async () => Date.now() - 60_000,
      open: async () => [{ thread: busy, ref: { ...place, message: `${thread.id}/${progress.id}` } }],
    };
    const { intake } = await startAdapter(discord, { downtime });
    const events = await intake.first(1);
    expect(events.filter(({ kind }) => kind === "stop")).toMatchObject([
      { target: { thread: busy }, author: { name: "Discord, where the channel or thread was deleted" } },
    ]);
  });
});

describe("what comes in", () => {
  test("one channel is handed in one after the other", async () => {
    const discord = await fakeDiscord();
    const { intake } = await startAdapter(discord);
    const first = Promise.withResolvers<IntakeResult>();
    const arrived = Promise.withResolvers<void>();
    intake.next.push((event) => {
      intake.events.push(event);
      arrived.resolve();
      return first.promise;
    });
    const ada = discord.user("ada");
    ada.says(discord.direct(ada), "one");
    await arrived.promise;
    ada.says(discord.direct(ada), "two");
    const bob = discord.user("bob");
    bob.says(discord.direct(bob), "elsewhere");
    await intake.first(2);
    first.resolve({ kind: "duplicate" });
    const texts = (await intake.first(3)).map((event) => event.kind === "message" && event.text);
    expect(texts).toEqual(["one", "elsewhere", "two"]);
  });

  test("and could not be kept is looked for again", async () => {
    const discord = await fakeDiscord();
    const since = Date.now() - 60_000;
    const ready = Promise.withResolvers<void>();
    const { intake } = await startAdapter(discord, {
      downtime: {
        ...nobodyWasHere,
        lastConnectedAt: async () => since,
        markConnected: async () => ready.resolve(),
      },
    });
    await ready.promise;
    intake.next.push(async () => {
      throw new Error("Redis is away");
    });
    discord.user("ada").says(discord.channel("general"), "<@BOT> hi");
    expect(await intake.first(1)).toMatchObject([
      { text: "hi", author: { name: "ada", standing: "member" } },
    ]);
  });

  test("when stopping, what is in hand is finished and nothing else taken", async () => {
    const discord = await fakeDiscord();
    const { intake, adapter } = await startAdapter(discord);
    const arrived = Promise.withResolvers<void>();
    const persisted = Promise.withResolvers<IntakeResult>();
    intake.next.push((_event) => {
      arrived.resolve();
      return persisted.promise;
    });
    const ada = discord.user("ada");
    ada.says(discord.direct(ada), "first");
    await arrived.promise;
    let isStopped = false;
    const stopped = adapter.stop().then(() => {
      isStopped = true;
    });
    ada.says(discord.direct(ada), "second");
    await discord.until(() => discord.gateway.connections === 0);
    expect(isStopped).toBe(false);
    persisted.resolve({ kind: "duplicate" });
    await stopped;
    expect(intake.events).toEqual([]);
  });
});

describe("the connection", () => {
  test.each([
    [
      4004,
      /^Discord has closed the connection for good: DISCORD_TOKEN is not a token that Discord knows: copy it/,
    ],
    [4014, /^Discord has closed the connection for good: The Discord app may not read messages: switch on/],
    [
      4011,
      /^Discord has closed the connection for good: it gave the code 4011\. Heddle goes on trying to connect\.$/,
    ],
  ])("says why it was ended for good, and what to do (%i)", async (code, sentence) => {
    const discord = await fakeDiscord();
    const said = Promise.withResolvers<string>();
    const log = pino({ level: "error" }, { write: (line) => said.resolve(String(JSON.parse(line).msg)) });
    const { adapter } = await startAdapter(discord, { log });
    discord.gateway.cut(code);
    expect(await said.promise).toMatch(sentence);
    expect(adapter.problem?.()).toBeDefined();
  });

  test("comes back once Discord takes it again, and tells by then that nothing is heard", async () => {
    const discord = await fakeDiscord();
    const states: ConnectionChange["isConnected"][] = [];
    const onChange = (change: unknown) => states.push((change as ConnectionChange).isConnected);
    connections.subscribe(onChange);
    onTestFinished(() => {
      connections.unsubscribe(onChange);
    });
    const { adapter, intake } = await startAdapter(discord, { reopenMs: 1 });
    const unauthorized = { kind: "refuse", status: 401, code: 0, message: "401: Unauthorized" } as const;
    discord.fail(/^GET \/gateway\/bot/, unauthorized, 2);
    expect(adapter.problem?.()).toBeUndefined();
    discord.gateway.cut(4004);
    await discord.until(() => discord.gateway.identified >= 2);
    discord.user("ada").says(discord.channel("general"), "<@BOT> again");
    expect(await intake.first(1)).toMatchObject([{ text: "again" }]);
    await vi.waitFor(() => expect(adapter.problem?.()).toBeUndefined());
    expect(states).toEqual([true, false, true]);
  });

  test("is taken up again after a cut, and what came in between arrives without looking for it", async () => {
    const discord = await fakeDiscord();
    const looks: string[] = [];
    const counted: unknown[] = [];
    const count = (reconnect: unknown) => void counted.push(reconnect);
    reconnects.subscribe(count);
    onTestFinished(() => reconnects.unsubscribe(count));
    const { intake } = await startAdapter(discord, {
      downtime: { ...nobodyWasHere, lastConnectedAt: async (_platform, shard) => void looks.push(shard) },
    });
    discord.gateway.cut();
    await discord.until(() => discord.gateway.connections === 0);
    const ada = discord.user("ada");
    ada.says(discord.channel("general"), "<@BOT> are you there?");
    expect(await intake.first(1)).toMatchObject([{ text: "are you there?" }]);
    expect(discord.gateway).toMatchObject({ identified: 1, resumed: 1 });
    expect(looks).toEqual(["shard-0-of-1"]);
    expect(counted).toEqual([{ platform: "discord" }]);
  });

  test("is renewed when Discord asks for it", async () => {
    const discord = await fakeDiscord();
    const { intake } = await startAdapter(discord);
    discord.gateway.reconnect();
    await discord.until(() => discord.gateway.resumed === 1);
    discord.user("ada").says(discord.channel("general"), "<@BOT> hi");
    await intake.first(1);
  });

  test("can be ended while it is coming back", async () => {
    const discord = await fakeDiscord();
    const { adapter } = await startAdapter(discord);
    // The client hangs up by itself, and pauses half a second before it comes back.
    discord.gateway.reconnect();
    await discord.until(() => discord.gateway.connections === 0);
    await delay(100);
    await adapter.stop();
    await delay(700);
    expect(discord.gateway).toMatchObject({ connections: 0, resumed: 0 });
  });

  test("begins anew when the session is forgotten, and finds what was missed in channels, threads and direct messages", async () => {
    const discord = await fakeDiscord();
    const general = discord.channel("general");
    const ada = discord.user("ada");
    ada.says(general, "<@BOT> long ago");
    const direct = discord.direct(ada);
    const thread = discord.startThread(ada.says(general, "t"), "t");
    const since = Date.now() + 1;
    const ready = Promise.withResolvers<void>();
    const { intake } = await startAdapter(discord, {
      downtime: {
        ...nobodyWasHere,
        lastConnectedAt: async () => since,
        markConnected: async () => ready.resolve(),
        threads: async (_platform, workspace) =>
          workspace === "dm"
            ? [{ platform: "discord", workspace, channel: direct.id, thread: direct.id }]
            : [],
      },
    });
    await ready.promise;
    while (Date.now() <= since) await new Promise(setImmediate);
    discord.gateway.forget();
    ada.edits(ada.says(general, "<@BOT> start"), "<@BOT> start anew");
    ada.says(thread, "go on");
    ada.says(direct, "hello?");
    expect(await intake.first(3)).toMatchObject([
      {
        kind: "message",
        text: "start anew",
        addressed: "mention",
        author: { name: "ada", standing: "member" },
      },
      {
        kind: "message",
        text: "go on",
        addressed: "follow-up",
        thread: { channel: general.id, thread: thread.id },
      },
      { kind: "message", text: "hello?", addressed: "direct", thread: { thread: direct.id } },
    ]);
    expect(discord.gateway).toMatchObject({ identified: 2, resumed: 0 });
  });

  test("finds what became of the messages that are worked on while nobody listened: edits, deletions and a 🛑", async () => {
    const discord = await fakeDiscord();
    const general = discord.channel("general");
    const ada = discord.user("ada");
    const root = ada.says(general, "<@BOT> begin");
    const thread = discord.startThread(root, "begin");
    const [changed, same, gone, shown] = [
      ada.says(thread, "count to 9"),
      ada.says(thread, "in French"),
      ada.says(thread, "and the weather"),
      discord.user("ci", { bot: true }).says(thread, "Working"),
    ];
    const direct = discord.direct(ada);
    const asked = ada.says(direct, "hello?");
    while (Date.now() <= readTime(asked.id)) await new Promise(setImmediate);
    const since = Date.now();
    ada.edits(changed, "count to 10");
    ada.edits(same, "in Latin");
    ada.deletes(gone);
    ada.reacts("\u{1F6D1}\uFE0F", shown);
    ada.reacts("👀", shown);
    ada.reacts("⏹️", asked);
    // Of another turn.
    ada.reacts("🛑", root);

    const place = { platform: "discord", workspace: discord.guild.id, channel: general.id };
    const where = { ...place, thread: thread.id };
    const open = (message: string, text?: string): OpenMessage => ({
      ...{ thread: where, ref: { ...place, message: `${thread.id}/${message}` } },
      ...(text !== undefined && { written: { author: { id: ada.id, name: "ada" }, text } }),
    });
    const home = { platform: "discord", workspace: "dm", channel: direct.id };
    const messages = [
      open(changed.id, "count to 9"),
      // This edit was told before.
      open(same.id, "in Latin"),
      open(gone.id, "and the weather"),
      open(shown.id),
      {
        thread: { ...home, thread: direct.id },
        ref: { ...home, message: `${direct.id}/${asked.id}` },
      },
    ];
    const ready = Promise.withResolvers<void>();
    const { intake } = await startAdapter(discord, {
      downtime: {
        ...nobodyWasHere,
        lastConnectedAt: async () => since,
        markConnected: async () => ready.resolve(),
        open: async (_platform, workspaces) =>
          messages.filter((one) => workspaces.includes(one.thread.workspace)),
      },
    });
    await ready.promise;
    const author = { id: ada.id, name: "ada", standing: "member" };
    expect(intake.events).toMatchObject([
      { kind: "edit", thread: where, ref: open(changed.id).ref, author, text: "count to 10" },
      { kind: "delete", thread: where, ref: open(gone.id).ref, author },
      { kind: "stop", target: { thread: where }, author, at: since, dedupeKey: shown.id },
      { kind: "stop", target: { thread: { ...home, thread: direct.id } }, author: { name: "ada" } },
    ]);

    // This gateway has not seen it come in.
    ada.deletes(same);
    expect((await intake.first(5)).at(-1)).toMatchObject({ kind: "delete", thread: where, author });
  });

  test("finds a 🛑 on a message that was missed itself, behind the message", async () => {
    const discord = await fakeDiscord();
    const ada = discord.user("ada");
    const ready = Promise.withResolvers<void>();
    const mention = ada.says(discord.channel("general"), "<@BOT> start");
    ada.reacts("🛑", mention);
    const since = readTime(mention.id) - 1;
    const { intake } = await startAdapter(discord, {
      downtime: {
        ...nobodyWasHere,
        lastConnectedAt: async () => since,
        markConnected: async () => ready.resolve(),
      },
    });
    await ready.promise;
    expect(intake.events).toMatchObject([
      { kind: "message", text: "start" },
      { kind: "stop", target: { thread: { thread: mention.id } }, at: readTime(mention.id) },
    ]);
  });

  test("looks again for an edit that could not be kept", async () => {
    const discord = await fakeDiscord();
    const ada = discord.user("ada");
    const since = Date.now() - 60_000;
    const mention = ada.says(discord.channel("general"), "<@BOT> count to 9");
    const place = { platform: "discord", workspace: discord.guild.id, channel: mention.channel.id };
    const open: OpenMessage = {
      thread: { ...place, thread: mention.id },
      ref: { ...place, message: `${mention.channel.id}/${mention.id}` },
      written: { author: { id: ada.id, name: "ada" }, text: "count to 9" },
    };
    const ready = Promise.withResolvers<void>();
    const { intake } = await startAdapter(discord, {
      downtime: {
        ...nobodyWasHere,
        lastConnectedAt: async () => since,
        markConnected: async () => ready.resolve(),
        open: async () => [open],
      },
    });
    await ready.promise;
    const edited = Promise.withResolvers<InboundEvent>();
    intake.next.push(
      async () => {
        throw new Error("Redis is away");
      },
      // What happened to work under way comes before all else.
      async (event) => {
        edited.resolve(event);
        return { kind: "duplicate" };
      },
    );
    ada.edits(mention, "<@BOT> count to 10");
    expect(await edited.promise).toMatchObject({ kind: "edit", ref: open.ref, text: "count to 10" });
  });

  test("presence is noted only when what was missed has been found", async () => {
    const discord = await fakeDiscord();
    const noted = Promise.withResolvers<string[]>();
    const steps: string[] = [];
    await startAdapter(discord, {
      downtime: {
        ...nobodyWasHere,
        lastConnectedAt: async () => {
          steps.push("looked");
          return undefined;
        },
        markConnected: async (_platform, shard) => {
          steps.push(shard);
          noted.resolve(steps);
        },
        threads: async () => [],
        open: async () => [],
      },
    });
    expect(await noted.promise).toEqual(["looked", "shard-0-of-1"]);
  });
});

describe("shards", () => {
  /** A server of each of two shards. */
  const guildsOf = (discord: Awaited<ReturnType<typeof fakeDiscord>>) => {
    const shard = (id: string) => Number((BigInt(id) >> 22n) % 2n);
    const found = [discord.guild];
    while (!found.some(({ id }) => shard(id) === 1) || !found.some(({ id }) => shard(id) === 0)) {
      found.push(discord.addGuild(`Server ${found.length}`));
    }
    return [0, 1].map((number) => found.find(({ id }) => shard(id) === number));
  };

  test("all that Discord recommends are listened to", async () => {
    const discord = await fakeDiscord({ shards: 2 });
    const [even, odd] = guildsOf(discord);
    const { intake } = await startAdapter(discord);
    expect(discord.gateway.connections).toBe(2);
    const ada = discord.user("ada");
    for (const guild of [even, odd]) if (guild) ada.says(discord.channel("talk", { guild }), "<@BOT> hi");
    const workspaces = (await intake.first(2)).map(
      (event) => event.kind === "message" && event.thread.workspace,
    );
    expect(new Set(workspaces)).toEqual(new Set([even?.id, odd?.id]));
  });

  test("a process can be given some of them", async () => {
    const discord = await fakeDiscord({ shards: 2 });
    const [even, odd] = guildsOf(discord);
    const intake = recordingIntake();
    const adapter = adapterFor(discord, { shards: { ids: [1], total: 2 } });
    await adapter.start(intake);
    const ada = discord.user("ada");
    if (even) ada.says(discord.channel("talk", { guild: even }), "<@BOT> not here");
    if (odd) ada.says(discord.channel("talk", { guild: odd }), "<@BOT> here");
    expect(await intake.first(1)).toMatchObject([{ text: "here" }]);
    expect(discord.gateway.connections).toBe(1);
    await adapter.stop();
  });
});
