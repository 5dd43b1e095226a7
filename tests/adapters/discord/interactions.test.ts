import { Writable } from "node:stream";
import { MessageFlags } from "discord.js";
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { readTime } from "../../../src/adapters/discord/connection/ids.ts";
import type { InboundEvent, IntakeResult } from "../../../src/chat/inbound.ts";
import type { OutboundMessage } from "../../../src/chat/outbound.ts";
import { threadId, type ThreadRef } from "../../../src/chat/threads.ts";
import type { FakeDiscord } from "../../fakes/discord/fake-discord.ts";
import type { FakeMessage } from "../../fakes/discord/world.ts";
import type { Form } from "../../../src/chat/outbound.ts";
import { answerButton, shortForm, wholeForm } from "../form-fields.ts";
import { adapterFor, fakeDiscord, startAdapter, recordingIntake, surfaceOf } from "./connected-adapter.ts";

const placeOf = (discord: FakeDiscord) => ({
  platform: "discord",
  workspace: discord.guild.id,
  channel: discord.channel("general").id,
});

/** A thread in #general with a message of ours. */
async function posted(discord: FakeDiscord, message: Partial<OutboundMessage>) {
  const root = discord.user("ada").says(discord.channel("general"), "root");
  const thread: ThreadRef = { ...placeOf(discord), thread: root.id };
  await surfaceOf(discord).post(thread, { kind: "notice", markdown: "May I?", ...message }, "k");
  const shown = await discord.until(() => discord.threadOf(root)?.messages[0]);
  return { thread, shown, ref: { ...placeOf(discord), message: `${root.id}/${shown.id}` } };
}

describe("/agent", () => {
  test("comes in with its options and file; the thread will start from the reply, which shows the task", async () => {
    const discord = await fakeDiscord();
    const { intake } = await startAdapter(discord);
    const general = discord.channel("general");
    const ada = discord.user("ada", { roles: ["9"] });
    const options = { prompt: "sum this\nplease", model: "openai/b", skill: "csv-report" };
    const asked = ada.asks(general, options, { name: "__a__.csv", content: "1,2" });
    const [event] = await intake.first(1);
    expect(event).toMatchObject({
      kind: "message",
      thread: { ...placeOf(discord), thread: asked.reply?.id },
      ref: { ...placeOf(discord), message: `${general.id}/${asked.reply?.id}` },
      author: { id: ada.id, name: "ada", standing: "member", roles: ["9"] },
      text: "sum this\nplease",
      attachments: [{ name: "__a__.csv", bytes: 3 }],
      options: { model: "openai/b", skill: "csv-report" },
      addressed: "mention",
      at: readTime(asked.id),
    });
    expect(asked.reply?.content).toBe(`> sum this\n> please\n-# asked by <@${ada.id}> · \\_\\_a\\_\\_.csv`);
    expect(asked.reply?.mentions).toEqual([]);
    expect(asked.answer?.type).toBe(5);
    if (event?.kind !== "message" || !asked.reply) throw new Error("There is no task.");
    await surfaceOf(discord).post(event.thread, { kind: "answer", markdown: "3" }, "k");
    expect(discord.threadOf(asked.reply)?.members).toEqual(new Set([ada.user]));
  });

  test("is worked on for longer than the fifteen minutes of its token", async () => {
    const discord = await fakeDiscord();
    const { intake } = await startAdapter(discord);
    const asked = discord.user("ada").asks(discord.channel("general"), { prompt: "hi" });
    const [event] = await intake.first(1);
    if (event?.kind !== "message" || !asked.reply) throw new Error("There is no task.");
    asked.expires = 0;
    const surface = surfaceOf(discord);
    const [progress] = await surface.post(event.thread, { kind: "progress", markdown: "Working" }, "p");
    if (progress) await surface.edit(progress, { kind: "progress", markdown: "Done" });
    await surface.post(event.thread, { kind: "answer", markdown: "Hello." }, "a");
    await surface.mark(event.ref, "answered");
    expect(discord.threadOf(asked.reply)?.messages.map(({ content }) => content)).toEqual(["Done", "Hello."]);
    expect([...asked.reply.reactions.keys()]).toEqual(["✅"]);
  });

  test("shows the words of somebody without permission to nobody, and tells why to that person alone", async () => {
    const discord = await fakeDiscord();
    const { intake } = await startAdapter(discord, { mayAsk: () => false });
    intake.next.push(async (event) => {
      intake.events.push(event);
      return { kind: "refused", reply: "You are not listed." };
    });
    const asked = discord.user("eve").asks(discord.channel("general"), { prompt: "something rude" });
    const reply = await discord.until(() => asked.reply);
    expect(reply).toMatchObject({ content: "You are not listed.", onlyFor: { username: "eve" } });
    expect(intake.events).toMatchObject([{ kind: "message", author: { name: "eve" }, tellsRefusal: true }]);
  });

  test("goes on in the thread or direct conversation where it is used", async () => {
    const discord = await fakeDiscord();
    const { intake } = await startAdapter(discord);
    const ada = discord.user("ada");
    const thread = discord.startThread(ada.says(discord.channel("general"), "t"), "t");
    ada.asks(thread, { prompt: "here" });
    await intake.first(1);
    const direct = discord.direct(ada);
    ada.asks(direct, { prompt: "and here" });
    expect(await intake.first(2)).toMatchObject([
      { thread: { ...placeOf(discord), thread: thread.id }, addressed: "mention" },
      { thread: { workspace: "dm", thread: direct.id }, addressed: "direct" },
    ]);
  });

  test("takes the order to plan first, and shows it", async () => {
    const discord = await fakeDiscord();
    const { intake } = await startAdapter(discord);
    const asked = discord.user("ada").asks(discord.channel("general"), { prompt: "plan: move the report" });
    expect(await intake.first(1)).toMatchObject([{ text: "!plan move the report" }]);
    expect(asked.reply?.content).toContain("!plan move the report");
  });

  test("says so when it is not certain that the task was kept, under its words", async () => {
    const discord = await fakeDiscord();
    const { intake } = await startAdapter(discord);
    intake.next.push(async () => {
      throw new Error("Redis is away");
    });
    const asked = discord.user("ada").asks(discord.channel("general"), { prompt: "hi" });
    const told = await discord.until(() => asked.reply?.content.includes("not make sure") && asked.reply);
    expect(told.content).toMatch(/^> hi\n-# asked by .+\n-# .+ before you repeat it\.$/);
  });

  test.each([
    [
      "help",
      "general",
      /^`\/agent` with a task starts a thread.+\n.+`plan:` before the task.+\n.+`!status` tells/,
    ],
    ["Stop", "general", /^I cannot know which thread you mean: use `\/agent stop` in it\.$/],
    ["/status", "general", /^I cannot know which thread you mean/],
    ["help", "a thread", /^`\/agent` with a task starts a thread/],
  ])("tells the person alone how it works for “%s” in %s", async (prompt, where, words) => {
    const discord = await fakeDiscord();
    const { intake } = await startAdapter(discord);
    const general = discord.channel("general");
    const ada = discord.user("ada");
    const place = where === "general" ? general : discord.startThread(ada.says(general, "t"), "t");
    const asked = ada.asks(place, { prompt });
    const reply = await discord.until(() => asked.reply);
    expect(reply.content).toMatch(words);
    expect(reply.onlyFor?.username).toBe("ada");
    expect(intake.events).toEqual([]);
  });

  test("says a word about the thread where it is used, as intake knows it", async () => {
    const discord = await fakeDiscord();
    const { intake } = await startAdapter(discord);
    const ada = discord.user("ada");
    const thread = discord.startThread(ada.says(discord.channel("general"), "t"), "t");
    ada.asks(thread, { prompt: "Status" });
    expect(await intake.first(1)).toMatchObject([{ text: "/status", thread: { thread: thread.id } }]);
  });

  test.each([
    ["/agent stop", "/stop"],
    ["/agent status", "/status"],
    ["/stop", "/stop"],
    ["/status", "/status"],
  ])("%s is answered to the person alone, whatever the bot may do there", async (command, text) => {
    const discord = await fakeDiscord();
    const { intake } = await startAdapter(discord);
    const [ada, general] = [discord.user("ada"), discord.channel("general")];
    const thread = discord.startThread(ada.says(general, "t"), "t");
    for (const permission of ["AttachFiles", "AddReactions", "CreatePublicThreads"] as const)
      discord.deny(general, permission);
    intake.next.push(async (event) => {
      intake.events.push(event);
      return { kind: "acted", thread: "discord:1:2:3", reply: "It stands **well**." };
    });
    const [, prompt = ""] = command.split(" ");
    const asked = prompt ? ada.asks(thread, { prompt }) : ada.uses(command.slice(1), thread);
    const reply = await discord.until(() => asked.reply);
    expect(reply).toMatchObject({ content: "It stands **well**.", onlyFor: { username: "ada" } });
    expect(intake.events).toMatchObject([{ kind: "message", text, tellsRefusal: true }]);
    expect(thread.messages.filter(({ onlyFor }) => !onlyFor)).toEqual([]);
  });

  test("an administrator's command in a channel is answered to the person alone, with the mention as it is", async () => {
    const discord = await fakeDiscord();
    const { intake } = await startAdapter(discord);
    const [ada, general] = [discord.user("ada"), discord.channel("general")];
    intake.next.push(async (event) => {
      intake.events.push(event);
      return { kind: "acted", thread: "discord:1:2:3", reply: "Denied." };
    });
    const prompt = "deny <@80351110224678912>";
    const asked = ada.asks(general, { prompt });
    const reply = await discord.until(() => asked.reply);
    expect(reply).toMatchObject({ content: "Denied.", onlyFor: { username: "ada" } });
    expect(intake.events).toMatchObject([
      { text: "/deny <@80351110224678912>", tellsRefusal: true, thread: { channel: general.id } },
    ]);
  });

  test.each(["a thread", "general"])(
    "/queue in %s is answered to the person alone, with menus that change the answer",
    async (where) => {
      const discord = await fakeDiscord();
      const { intake } = await startAdapter(discord);
      const [ada, general] = [discord.user("ada"), discord.channel("general")];
      const thread = discord.startThread(ada.says(general, "t"), "t");
      const place = where === "general" ? general : thread;
      const menu = (id: string) => ({
        label: "Take out of the queue…",
        options: [
          { id: "x".repeat(101), label: "too long" },
          { id, label: `m1 ${"word ".repeat(30)}`, about: "ada" },
        ],
      });
      intake.next.push(async (event) => {
        intake.events.push(event);
        return { kind: "acted", thread: "discord:1:2:3", reply: "1. `m1`\n2. `m2`", menus: [menu("a")] };
      });
      const asked = ada.uses("queue", place);
      const list = await discord.until(() => asked.reply);
      expect(list).toMatchObject({ content: "1. `m1`\n2. `m2`", onlyFor: { username: "ada" } });
      intake.next.push(async (event) => {
        intake.events.push(event);
        return { kind: "acted", thread: "discord:1:2:3", reply: "`m1` is out.", menus: [menu("b")] };
      });
      const chosen = ada.chooses("Take out of the queue…", "m1", list);
      await discord.until(() => chosen.answer);
      expect(list).toMatchObject({ content: "`m1` is out.", menus: [{ options: [{ value: "b" }] }] });
      const [listed, pressed] = intake.events;
      expect(listed).toMatchObject({ kind: "message", text: "/queue", tellsRefusal: true });
      expect(pressed).toMatchObject({
        kind: "action",
        action: "a",
        tellsRefusal: true,
        author: { name: "ada" },
      });
      if (where === "a thread") expect(pressed).toMatchObject({ thread: { thread: thread.id } });
    },
  );

  test("a choice that is refused leaves the list as it is, and is told apart from it", async () => {
    const discord = await fakeDiscord();
    const { intake } = await startAdapter(discord);
    const [ada, general] = [discord.user("ada"), discord.channel("general")];
    const menus = [{ label: "Choose", options: [{ id: "a", label: "m1" }] }];
    intake.next.push(async () => ({ kind: "acted", thread: "discord:1:2:3", reply: "The list.", menus }));
    const asked = ada.uses("queue", general);
    const list = await discord.until(() => asked.reply);
    intake.next.push(async () => ({ kind: "refused", reply: "m1 does not wait here." }));
    const chosen = ada.chooses("Choose", "m1", list);
    const problem = await discord.until(() => chosen.reply);
    expect(problem).toMatchObject({ content: "m1 does not wait here.", onlyFor: { username: "ada" } });
    expect(list).toMatchObject({ content: "The list.", menus: [{}] });
  });

  test("whether somebody is mentioned is chosen with the command, also in a channel", async () => {
    const discord = await fakeDiscord();
    const { intake } = await startAdapter(discord);
    const [ada, general] = [discord.user("ada"), discord.channel("general")];
    intake.next.push(async (event) => {
      intake.events.push(event);
      return { kind: "acted", thread: "discord:1:2:3", reply: "I mention you." };
    });
    const asked = ada.uses("notify", general, { when: "on" });
    expect(await discord.until(() => asked.reply)).toMatchObject({
      content: "I mention you.",
      onlyFor: { username: "ada" },
    });
    expect(intake.events).toMatchObject([{ text: "/notify on", tellsRefusal: true }]);
  });

  test("a stop that was ordered is said to the person alone", async () => {
    const discord = await fakeDiscord();
    const { intake } = await startAdapter(discord);
    const ada = discord.user("ada");
    const thread = discord.startThread(ada.says(discord.channel("general"), "t"), "t");
    intake.next.push(async () => ({ kind: "stopping", thread: "discord:1:2:3" }));
    const asked = ada.uses("stop", thread);
    expect((await discord.until(() => asked.reply)).content).toBe("Stopping…");
  });

  test("shows a task with a model that may not be chosen to nobody", async () => {
    const discord = await fakeDiscord();
    const { intake } = await startAdapter(discord);
    const general = discord.channel("general");
    intake.next.push(async (event) => {
      intake.events.push(event);
      return { kind: "refused", reply: "The model x cannot be chosen here." };
    });
    const asked = discord.user("ada").asks(general, { prompt: "hi", model: "x" });
    const reply = await discord.until(() => asked.reply);
    expect(reply).toMatchObject({
      content: "The model x cannot be chosen here.",
      onlyFor: { username: "ada" },
    });
    expect(intake.events).toMatchObject([{ tellsRefusal: true, options: { model: "x" } }]);
    expect(general.messages.filter(({ onlyFor }) => !onlyFor)).toEqual([]);
  });

  test("takes a task where it may attach no files and add no reactions", async () => {
    const discord = await fakeDiscord();
    const { intake } = await startAdapter(discord);
    const general = discord.channel("general");
    for (const permission of ["AttachFiles", "AddReactions"] as const) discord.deny(general, permission);
    discord.user("ada").asks(general, { prompt: "hi" });
    expect(await intake.first(1)).toMatchObject([{ text: "hi" }]);
  });

  test("asks Discord about no channel that the command tells of: that would take some of the three seconds", async () => {
    const discord = await fakeDiscord();
    const { intake } = await startAdapter(discord);
    const late = discord.channel("made later");
    discord.user("ada").asks(late, { prompt: "hi" });
    await intake.first(1);
    expect(discord.calls.map(({ call }) => call)).not.toContain(`GET /channels/${late.id}`);
  });

  test("names the permission that is missing, and where, to the person alone", async () => {
    const discord = await fakeDiscord();
    const { intake } = await startAdapter(discord);
    const general = discord.channel("general");
    discord.deny(general, "CreatePublicThreads");
    const asked = discord.user("ada").asks(general, { prompt: "hi" });
    const reply = await discord.until(() => asked.reply);
    expect(reply.content).toContain("I cannot work in #general: I lack Create Public Threads.");
    expect(reply.flags & MessageFlags.Ephemeral).toBeTruthy();
    expect(intake.events).toEqual([]);
  });

  test("suggests models and skills by what is typed", async () => {
    const discord = await fakeDiscord();
    await startAdapter(discord);
    const ada = discord.user("ada");
    const general = discord.channel("general");
    expect(await ada.types(general, "model", "")).toEqual(["anthropic/a", "openai/b"]);
    expect(await ada.types(general, "model", "OPEN")).toEqual(["openai/b"]);
    expect(await ada.types(general, "skill", "csv")).toEqual(["csv-report"]);
  });

  test("suggests prompts, and behind one its arguments", async () => {
    const discord = await fakeDiscord();
    await startAdapter(discord);
    const [ada, general] = [discord.user("ada"), discord.channel("general")];
    const suggest = (text: string) => ada.types(general, "template", text);
    expect(await suggest("tri")).toEqual(["tickets/triage project=…: Sorts what is new"]);
    expect(await suggest("other")).toEqual([]);
    expect(await suggest("tickets/triage ")).toEqual([
      "tickets/triage project=…",
      "tickets/triage since=… (if you like)",
    ]);
    expect(await suggest("tickets/triage project=heddle")).toEqual([
      "tickets/triage project=heddle",
      "tickets/triage project=heddle since=… (if you like)",
    ]);
    const long = `tickets/triage project=${"x".repeat(90)}`;
    expect(await suggest(long)).toEqual([]);
  });

  test("takes a prompt with its arguments, and says what is wrong with one before anybody sees it", async () => {
    const discord = await fakeDiscord();
    const { intake } = await startAdapter(discord);
    const [ada, general] = [discord.user("ada"), discord.channel("general")];
    ada.asks(general, { prompt: "go", template: 'tickets/triage project="a b"' });
    await intake.first(1);
    expect(intake.events).toMatchObject([
      {
        text: "go",
        options: { prompt: { server: "tickets", name: "triage", arguments: { project: "a b" } } },
      },
    ]);
    const odd = ada.asks(general, { prompt: "go", template: "triage, please" });
    expect((await discord.until(() => odd.reply)).content).toContain("Write `template` as server/name");
    ada.asks(general, { prompt: "go", template: "tickets/triage colour=red" });
    await intake.first(2);
    // Intake says that there is no such argument.
    expect(intake.events[1]).toMatchObject({ tellsRefusal: true });
    ada.asks(general, { prompt: "go", template: "tickets/triage" });
    await intake.first(3);
    // It asks for one that is missing, where the task is shown.
    expect(intake.events[2]).not.toHaveProperty("tellsRefusal");
  });

  test("shows at most 25 suggestions, and none that Discord would refuse", async () => {
    const discord = await fakeDiscord();
    const models = ["x".repeat(101), ...Array.from({ length: 40 }, (_model, index) => `openai/${index}`)];
    await startAdapter(discord, { choices: async () => ({ models, skills: [], prompts: [] }) });
    const shown = await discord.user("ada").types(discord.channel("general"), "model", "");
    expect(shown).toEqual(models.slice(1, 26));
  });
});

describe("Ask the agent about this", () => {
  test.each([[true], [false]])(
    "asks what to do and quotes the message (intent: %s)",
    async (messageContent) => {
      const discord = await fakeDiscord({ messageContent });
      const { intake } = await startAdapter(discord, { messageContent });
      const general = discord.channel("general");
      const claim = discord.user("bob").says(general, "2 + 2 = 5");
      const ada = discord.user("ada");
      const picked = ada.picks("Ask the agent about this", claim);
      await discord.until(() => picked.modal);
      const sent = ada.fills(picked, "is that so?");
      const [event] = await intake.first(1);
      expect(event).toMatchObject({
        kind: "message",
        thread: { ...placeOf(discord), thread: sent.reply?.id },
        author: { name: "ada" },
        text: "is that so?",
        about: { text: "2 + 2 = 5", author: { name: "bob" }, at: readTime(claim.id) },
        addressed: "mention",
      });
      expect(sent.reply?.content).toBe(`> is that so?\n-# asked by <@${ada.id}> · about a message of bob`);
    },
  );

  test("quotes what was forwarded, in somebody else's words", async () => {
    const discord = await fakeDiscord();
    const { intake } = await startAdapter(discord);
    const [general, ada] = [discord.channel("general"), discord.user("ada")];
    const alert = discord.user("bob").says(discord.channel("alerts"), "It broke");
    const picked = ada.picks("Ask the agent about this", ada.says(general, "", { forwards: alert }));
    await discord.until(() => picked.modal);
    ada.fills(picked, "why?");
    expect((await intake.first(1))[0]).toMatchObject({
      ...{ text: "why?", about: { text: "(forwarded, in somebody else's words)\nIt broke" } },
    });
  });

  test("shows as much of a task of many lines as Discord takes", async () => {
    const discord = await fakeDiscord();
    const { intake } = await startAdapter(discord);
    const ada = discord.user("ada");
    const picked = ada.picks("Ask the agent about this", ada.says(discord.channel("general"), "hm"));
    await discord.until(() => picked.modal);
    const sent = ada.fills(picked, "x\n".repeat(700));
    await intake.first(1);
    expect(sent.reply?.content).toMatch(/^(> x\n)+[> x]*…\n-# asked by/);
  });

  test("quotes what stands in the cards of a program's message", async () => {
    const discord = await fakeDiscord();
    const { intake } = await startAdapter(discord);
    const fields = [{ name: "host", value: "loom-3" }];
    const embeds = [{ title: "Disk full", description: "98 % of /var", fields }];
    const alert = discord.user("monitor", { bot: true }).says(discord.channel("general"), "", { embeds });
    const ada = discord.user("ada");
    const picked = ada.picks("Ask the agent about this", alert);
    await discord.until(() => picked.modal);
    ada.fills(picked, "why?");
    expect(await intake.first(1)).toMatchObject([
      {
        about: {
          text: "Disk full\n98 % of /var\nhost: loom-3",
          author: { name: "monitor", standing: "bot" },
        },
      },
    ]);
  });

  test("a form that was opened by a gateway that is gone fetches the message", async () => {
    const discord = await fakeDiscord();
    const first = adapterFor(discord);
    await first.start(recordingIntake());
    const claim = discord.user("bob").says(discord.channel("general"), "2 + 2 = 5");
    const picked = discord.user("ada").picks("Ask the agent about this", claim);
    await discord.until(() => picked.modal);
    await first.stop();
    const { intake } = await startAdapter(discord);
    discord.user("ada").fills(picked, "is that so?");
    expect(await intake.first(1)).toMatchObject([{ about: { text: "2 + 2 = 5" } }]);
  });

  test("a form that somebody sends from another channel reads nothing of the first", async () => {
    const discord = await fakeDiscord();
    const { intake } = await startAdapter(discord);
    const secret = discord.user("bob").says(discord.channel("board"), "we sell the company");
    const mallory = discord.user("mallory");
    const picked = mallory.picks("Ask the agent about this", secret);
    await discord.until(() => picked.modal);
    mallory.fills({ ...picked, channel: discord.channel("general") }, "what does it say?");
    const read = `GET /channels/${discord.channel("general").id}/messages/${secret.id}`;
    await discord.until(() => discord.calls.some(({ call }) => call === read));
    expect(intake.events).toEqual([]);
  });
});

describe("buttons", () => {
  const approve = { id: "approve:call-1", label: "Approve", style: "primary" } as const;
  const deny = { id: "deny:call-1", label: "Deny", style: "danger", asksFor: "Why not?" } as const;

  test("Stop stops the thread, and is acknowledged when the intake has it", async () => {
    const discord = await fakeDiscord();
    const { intake } = await startAdapter(discord);
    const { shown, thread } = await posted(discord, { stoppable: true });
    const press = discord.user("bob").presses("Stop", shown);
    expect(await intake.first(1)).toMatchObject([
      { kind: "stop", target: { thread }, author: { name: "bob" }, at: readTime(press.id) },
    ]);
    await discord.until(() => press.answer?.type === 6);
  });

  test("an action comes in with its id", async () => {
    const discord = await fakeDiscord();
    const { intake } = await startAdapter(discord);
    const { shown, thread, ref } = await posted(discord, { actions: [approve, deny] });
    const press = discord.user("bob").presses("Approve", shown);
    expect(await intake.first(1)).toEqual([
      {
        kind: "action",
        thread,
        ref,
        author: expect.objectContaining({ name: "bob" }),
        action: "approve:call-1",
        window: { most: 5 },
        tellsRefusal: true,
        at: readTime(press.id),
      },
    ]);
    await discord.until(() => press.answer?.type === 6);
  });

  test("one that asks for a sentence opens a form, and comes in with what was written", async () => {
    const discord = await fakeDiscord();
    const { intake } = await startAdapter(discord);
    const { shown, ref } = await posted(discord, { actions: [approve, deny] });
    const bob = discord.user("bob");
    const press = bob.presses("Deny", shown);
    const modal = await discord.until(() => press.modal);
    expect(modal.title).toBe("Why not?");
    const sent = bob.fills(press, "too risky");
    expect(await intake.first(1)).toMatchObject([
      { kind: "action", ref, action: "deny:call-1", text: "too risky", author: { name: "bob" } },
    ]);
    await discord.until(() => sent.answer?.type === 6);
  });

  test("one that asks for inputs opens a form with them, and brings what was put in", async () => {
    const discord = await fakeDiscord();
    const { intake } = await startAdapter(discord);
    const { shown, ref, thread } = await posted(discord, { actions: [answerButton(5)] });
    const bob = discord.user("bob");
    intake.next.push(async () => ({ kind: "acted", thread: threadId(thread), form: wholeForm }));
    const press = bob.presses("Answer…", shown);
    const modal = await discord.until(() => press.modal);
    expect(modal.components.map(({ label }) => label.slice(0, 7))).toEqual([
      ...["Subject", "CCCCCCC", "Urgent", "Colour", "More"],
    ]);
    bob.fillsIn(press, { Subject: "plans", Colour: "Blue" });
    expect(await intake.first(1)).toMatchObject([
      {
        ...{ kind: "action", ref, action: "input:q1:text", author: { name: "bob" } },
        fields: { subject: "plans", count: "2", urgent: [0], colour: [1], more: [0, 1] },
      },
    ]);
  });

  test("one that asks for an input opens it empty where the server suggests more than it takes", async () => {
    const discord = await fakeDiscord();
    const { intake } = await startAdapter(discord);
    const { shown, thread } = await posted(discord, { actions: [answerButton(1)] });
    const bob = discord.user("bob");
    intake.next.push(async () => ({ kind: "acted", thread: threadId(thread), form: shortForm }));
    const press = bob.presses("Answer…", shown);
    await discord.until(() => press.modal);
    bob.fillsIn(press, { Subject: "plans" });
    expect(await intake.first(1)).toMatchObject([{ kind: "action", fields: { subject: "plans" } }]);
  });

  test("one that asks for more inputs than a form has asks for the rest by a button of its own", async () => {
    const discord = await fakeDiscord();
    const { intake } = await startAdapter(discord);
    const { shown, ref, thread } = await posted(discord, { actions: [answerButton(8)] });
    const bob = discord.user("bob");
    const id = threadId(thread);
    const rest: Form = { title: "notes asks, 2 of 2", fields: wholeForm.fields.slice(0, 3) };
    const events: InboundEvent[] = [];
    const results: IntakeResult[] = [
      { kind: "acted", thread: id, form: wholeForm },
      { kind: "acted", thread: id, reply: "3 more fields are asked for.", continues: true },
      { kind: "acted", thread: id, form: rest },
      { kind: "refused", reply: "Subject: expected a text.", field: "subject" },
      { kind: "acted", thread: id, form: rest },
      { kind: "acted", thread: id },
    ];
    for (const result of results)
      intake.next.push(async (event) => {
        events.push(event);
        return result;
      });
    const press = bob.presses("Answer…", shown);
    await discord.until(() => press.modal);
    const first = bob.fillsIn(press, { Subject: "plans", Colour: "Blue" });
    const kept = await discord.until(() => first.reply);
    expect([kept.content, kept.onlyFor?.username]).toEqual(["3 more fields are asked for.", "bob"]);

    // What was put in is refused: the button is there for another try.
    const again = bob.presses("Continue…", kept);
    await discord.until(() => again.modal);
    const refused = bob.fillsIn(again, { Subject: "x" });
    expect((await discord.until(() => refused.reply)).content).toBe("Subject: expected a text.");
    const next = bob.presses("Continue…", kept);
    expect((await discord.until(() => next.modal)).title).toBe("notes asks, 2 of 2");
    bob.fillsIn(next, { Subject: "more" });
    await discord.until(() => kept.content === "Thank you, that was all.");
    expect(kept.components).toEqual([]);

    const asked = { kind: "action", ref, thread, action: "input:q1:text", author: { name: "bob" } };
    for (const event of events) expect(event).toMatchObject(asked);
    expect(events.map((event) => event.kind === "action" && event.window)).toEqual([
      ...[{ most: 5 }, { most: 5 }],
      ...[1, 2, 3, 4].map(() => ({ most: 5, continues: true })),
    ]);
    expect(events.at(-1)).toMatchObject({ fields: { subject: "more", count: "2", urgent: [0] } });
  });

  test("one whose answer holds an address has no preview of it, for which Discord would fetch it", async () => {
    const discord = await fakeDiscord();
    const { intake } = await startAdapter(discord);
    const { shown, thread } = await posted(discord, { actions: [approve] });
    const reply = "notes wants you to open a page at pay.example:\nhttps://pay.example/once?ticket=7";
    intake.next.push(async () => ({ kind: "acted", thread: threadId(thread), reply }));
    const press = discord.user("bob").presses("Approve", shown);
    const told = await discord.until(() => press.reply);
    expect(told.onlyFor?.username).toBe("bob");
    expect(told.flags & MessageFlags.SuppressEmbeds).toBe(MessageFlags.SuppressEmbeds);
  });

  test("one that asks for a sentence counts without it too", async () => {
    const discord = await fakeDiscord();
    const { intake } = await startAdapter(discord);
    const { shown } = await posted(discord, { actions: [deny] });
    const bob = discord.user("bob");
    const press = bob.presses("Deny", shown);
    await discord.until(() => press.modal);
    bob.fills(press, "");
    expect(await intake.first(1)).toMatchObject([{ action: "deny:call-1", text: "" }]);
  });

  test("the longest id survives, with as much of the question as fits", async () => {
    const discord = await fakeDiscord();
    const { intake } = await startAdapter(discord);
    const id = "i:".repeat(40);
    const { shown } = await posted(discord, { actions: [{ ...deny, id, asksFor: "Q".repeat(60) }] });
    const bob = discord.user("bob");
    const press = bob.presses("Deny", shown);
    expect((await discord.until(() => press.modal)).title).toMatch(/^Q{10,45}$/);
    bob.fills(press, "no");
    expect(await intake.first(1)).toMatchObject([{ action: id, text: "no" }]);
  });

  test("what did nothing, a refusal and what nothing else shows are told to the person alone", async () => {
    const discord = await fakeDiscord();
    const { intake } = await startAdapter(discord);
    const { shown } = await posted(discord, { actions: [approve], stoppable: true });
    const verdicts: Record<string, IntakeResult> = {
      ada: { kind: "ignored", why: "nothing is running" },
      bob: { kind: "refused", reply: "Only administrators may approve this." },
      eve: { kind: "acted", thread: "t", reply: "That is noted." },
    };
    const words = [
      "That did nothing: nothing is running.",
      "Only administrators may approve this.",
      "That is noted.",
    ];
    const told = Object.keys(verdicts).map(async (name) => {
      intake.next.push(async ({ author }) => verdicts[author.name] ?? { kind: "duplicate" });
      const press = discord.user(name).presses(name === "ada" ? "Stop" : "Approve", shown);
      const reply = await discord.until(() => press.reply);
      expect(reply.onlyFor?.username).toBe(name);
      return reply.content;
    });
    expect(await Promise.all(told)).toEqual(words);
  });

  test("a press that may not be kept is told, and not acknowledged as done", async () => {
    const discord = await fakeDiscord();
    const { intake } = await startAdapter(discord);
    const { shown } = await posted(discord, { actions: [approve] });
    intake.next.push(async () => {
      throw new Error("Redis is away");
    });
    const press = discord.user("bob").presses("Approve", shown);
    const reply = await discord.until(() => press.reply);
    expect(reply.content).toMatch(/not make sure/);
  });
});

test("a gateway that could not accept a press leaves the answer to one that has", async () => {
  const discord = await fakeDiscord();
  const [one, other] = [await startAdapter(discord), await startAdapter(discord)];
  const { shown } = await posted(discord, { stoppable: true });
  const refused = Promise.withResolvers<void>();
  other.intake.next.push(async () => {
    refused.resolve();
    return { kind: "ignored", why: "nothing is running" };
  });
  one.intake.next.push(async () => {
    await refused.promise;
    // Later than an answer of the other one that would not wait.
    await new Promise(setImmediate);
    return { kind: "stopping", thread: "t" };
  });
  const press = discord.user("ada").presses("Stop", shown);
  await discord.until(() => press.answer?.type === 6);
});

test("of several gateways one answers, and the others say nothing", async () => {
  const discord = await fakeDiscord();
  let written = "";
  const sink = new Writable({
    write(chunk, _encoding, done) {
      written += String(chunk);
      done();
    },
  });
  const log = pino({ level: "warn" }, sink);
  const [one, other] = [await startAdapter(discord, { log }), await startAdapter(discord, { log })];
  const general = discord.channel("general");
  const ada = discord.user("ada");
  const claim: FakeMessage = ada.says(general, "2 + 2 = 5");
  const { shown } = await posted(discord, { stoppable: true });
  const asked = ada.asks(general, { prompt: "hi" });
  ada.presses("Stop", shown);
  const picked = ada.picks("Ask the agent about this", claim);
  await ada.types(general, "model", "");
  await discord.until(() => picked.modal && asked.reply?.content);
  const callbacks = () => discord.calls.filter(({ call }) => call.startsWith("POST /interactions/"));
  await discord.until(() => callbacks().length === 8);
  // Both have the Stop, one of them has the task.
  await Promise.any([one.intake.first(2), other.intake.first(2)]);
  const tasks = [...one.intake.events, ...other.intake.events].filter(({ kind }) => kind === "message");
  expect(tasks).toHaveLength(1);
  expect(written).toBe("");
});

describe("the commands", () => {
  const registrations = (discord: FakeDiscord) =>
    discord.calls.filter(({ call }) => call.startsWith("PUT /applications"));

  test("are registered once, and again only when they have changed", async () => {
    const discord = await fakeDiscord();
    for (let starts = 0; starts < 2; starts += 1) {
      const adapter = adapterFor(discord);
      await adapter.start(recordingIntake());
      await adapter.stop();
    }
    expect(registrations(discord)).toHaveLength(1);
    const [command] = discord.commands;
    if (command) command["description"] = "What an older version said";
    const adapter = adapterFor(discord);
    await adapter.start(recordingIntake());
    await adapter.stop();
    expect(registrations(discord)).toHaveLength(2);
  });

  test("are no reason not to start when Discord refuses them", async () => {
    const discord = await fakeDiscord();
    discord.fail(/^PUT \/applications/, { kind: "refuse", status: 429, code: 30_034, message: "Max daily" });
    const { intake } = await startAdapter(discord);
    discord.user("ada").says(discord.channel("general"), "<@BOT> hi");
    await intake.first(1);
  });
});
