import { pino } from "pino";
import { describe, expect, onTestFinished, test } from "vitest";
import { createSlackSurface } from "../../../src/adapters/slack/surface/surface.ts";
import type { OutboundMessage } from "../../../src/chat/outbound.ts";
import type { IntakeResult } from "../../../src/chat/inbound.ts";
import { threadId, type ThreadRef } from "../../../src/chat/threads.ts";
import { visibleText } from "../../fakes/slack/blocks.ts";
import type { FakeMessage } from "../../fakes/slack/workspace.ts";
import { answerButton, shortForm, wholeForm } from "../form-fields.ts";
import { startAdapter, untilAcknowledged } from "./connected-adapter.ts";

const question: OutboundMessage = {
  kind: "notice",
  markdown: "May I deploy?",
  stoppable: true,
  actions: [
    { id: "approve:7", label: "Approve", style: "primary" },
    { id: "deny:7", label: "Deny", style: "danger", asksFor: "What should I do instead?" },
    { id: "later:7", label: "Later", style: "plain" },
  ],
};

/** A thread in which the bot has asked something. */
async function scene(options: Parameters<typeof startAdapter>[0] = {}) {
  const { slack, intake } = await startAdapter(options);
  const general = slack.channel("general");
  const [ada, bob] = [slack.user("ada"), slack.user("bob")];
  const root = await ada.says(general, "root");
  const thread: ThreadRef = {
    platform: "slack",
    workspace: slack.teamId,
    channel: general.id,
    thread: root.ts,
  };
  const log = pino({ level: "silent" });
  const surface = createSlackSurface({ botToken: slack.botToken, apiUrl: slack.url, log });
  const [ref] = await surface.post(thread, question, "k");
  if (!ref) throw new Error("Nothing was posted.");
  const asked = await slack.message(({ ts }) => ts === ref.message);
  return { slack, intake, general, ada, bob, root, thread, surface, ref, asked };
}

/** What the next event comes to, once that is said. */
function takesLong(intake: Awaited<ReturnType<typeof startAdapter>>["intake"]) {
  const outcome = Promise.withResolvers<IntakeResult>();
  intake.next.push(() => outcome.promise);
  onTestFinished(() => outcome.resolve({ kind: "duplicate" }));
  return outcome;
}

describe("buttons", () => {
  test("stand under the message, and an edit without them takes them away", async () => {
    const { slack, general, surface, ref } = await scene();
    expect(slack.transcript(general)).toContain("[Approve] [Deny] [Later] [Stop]");
    await surface.edit(ref, { kind: "notice", markdown: "Approved by ada." });
    expect(slack.transcript(general)).toBe("ada: root\n  heddle: Approved by ada. (edited)");
  });

  test("bring the id of the button, who pressed it and where", async () => {
    const { slack, intake, ada, thread, ref, asked } = await scene();
    await ada.presses("heddle_act:approve:7", asked);
    await untilAcknowledged(slack);
    expect(intake.events).toEqual([
      {
        kind: "action",
        thread,
        ref,
        author: { id: ada.id, name: "ada", standing: "member", roles: [] },
        action: "approve:7",
        tellsRefusal: true,
        at: expect.any(Number),
      },
    ]);
  });

  test("that ask for a sentence open a modal, and the sentence comes with the event", async () => {
    const { slack, intake, ada, thread, ref, asked } = await scene();
    await ada.presses("heddle_ask:deny:7", asked);
    await untilAcknowledged(slack);
    expect(intake.events).toEqual([]);
    expect(ada.modal()?.view).toMatchObject({ title: "Deny", label: "What should I do instead?" });
    ada.submits("  use the *staging* server ");
    await untilAcknowledged(slack);
    expect(ada.modal()).toBeUndefined();
    expect(intake.events).toMatchObject([
      { kind: "action", thread, ref, action: "deny:7", text: "use the *staging* server" },
    ]);
  });

  test("that ask for inputs open a modal with them, which says at its input what does not fit", async () => {
    const { slack, intake, ada, thread, ref, surface } = await scene();
    await surface.edit(ref, { kind: "question", markdown: "notes asks", actions: [answerButton(5)] });
    const asked = await slack.message(({ ts, text }) => ts === ref.message && text.includes("notes asks"));
    intake.next.push(async () => ({ kind: "acted", thread: threadId(thread), form: wholeForm }));
    await ada.presses("heddle_act:input:q1:text", asked);
    await untilAcknowledged(slack);
    expect(ada.modal()?.view.inputs.map(({ label }) => label.slice(0, 7))).toEqual([
      ...["Subject", "CCCCCCC", "Urgent", "Colour", "More"],
    ]);
    intake.next.push(async () => ({ kind: "refused", reply: "Too few.", field: "more" }));
    ada.fillsIn({ Colour: "Blue", More: ["Red"] });
    await untilAcknowledged(slack);
    expect(ada.modal()?.problem).toBe("More: Too few.");
    ada.fillsIn({ Colour: "Blue", More: ["Red", "Blue"], Urgent: "No" });
    await untilAcknowledged(slack);
    expect(ada.modal()).toBeUndefined();
    expect(intake.events).toMatchObject([
      {
        ...{ kind: "action", thread, ref, action: "input:q1:text" },
        fields: { subject: "plans", count: "2", urgent: [1], colour: [1], more: [0, 1] },
      },
    ]);
  });

  test("that ask for an input open it empty where the server suggests more than it takes", async () => {
    const { slack, intake, ada, thread, ref, surface } = await scene();
    await surface.edit(ref, { kind: "question", markdown: "notes asks", actions: [answerButton(1)] });
    const asked = await slack.message(({ ts, text }) => ts === ref.message && text.includes("notes asks"));
    intake.next.push(async () => ({ kind: "acted", thread: threadId(thread), form: shortForm }));
    await ada.presses("heddle_act:input:q1:text", asked);
    await untilAcknowledged(slack);
    ada.fillsIn({ Subject: "plans" });
    await untilAcknowledged(slack);
    expect(intake.events).toMatchObject([{ kind: "action", fields: { subject: "plans" } }]);
  });

  test("that ask for a sentence count without it too", async () => {
    const { slack, intake, ada, thread, asked } = await scene();
    await ada.presses("heddle_ask:deny:7", asked);
    await untilAcknowledged(slack);
    ada.submits("");
    await untilAcknowledged(slack);
    expect(intake.events).toMatchObject([{ kind: "action", thread, action: "deny:7", text: "" }]);
  });

  test("tell the person alone what came of a modal that took long, also where nobody has replied yet", async () => {
    const { slack, intake, ada, surface, thread } = await scene({ ackTimeoutMs: 3_000 });
    const [first] = await surface.post({ ...thread, thread: "" }, question, "begins");
    await ada.presses("heddle_ask:deny:7", await slack.message(({ ts }) => ts === first?.message));
    await untilAcknowledged(slack);
    const outcome = takesLong(intake);
    ada.submits("no");
    await untilAcknowledged(slack);
    expect(ada.modal()).toBeUndefined();
    outcome.resolve({ kind: "refused", reply: "Somebody was faster." });
    await slack.until(() => ada.ephemerals().length > 0);
    expect(ada.ephemerals()).toEqual(["Somebody was faster."]);
  });

  test("do not say that nothing was begun by a modal that may be taken all the same", async () => {
    const { slack, intake, ada, asked } = await scene({ ackTimeoutMs: 3_000 });
    await ada.presses("heddle_ask:deny:7", asked);
    await untilAcknowledged(slack);
    const outcome = takesLong(intake);
    ada.submits("no");
    await untilAcknowledged(slack);
    outcome.reject(new Error("Redis is away"));
    await slack.until(() => ada.ephemerals().length > 0);
    expect(ada.ephemerals()).toEqual([expect.stringMatching(/not make sure .+ Look whether it was/)]);
  });

  test("tell the person alone why they did nothing", async () => {
    const { slack, intake, ada, asked, general, root } = await scene();
    const before = slack.transcript(general);
    intake.next.push(async () => ({ kind: "refused", reply: "Only bob may approve this." }));
    await ada.presses("heddle_act:approve:7", asked);
    await untilAcknowledged(slack);
    intake.next.push(async () => ({ kind: "ignored", why: "nothing is running there" }));
    await ada.presses("heddle_stop", asked);
    await untilAcknowledged(slack);
    expect(ada.ephemerals()).toEqual([
      "Only bob may approve this.",
      "That did nothing: nothing is running there.",
    ]);
    expect(slack.transcript(general)).toBe(before);
    expect(slack.calls.at(-1)?.args).toMatchObject({ thread_ts: root.ts });

    await ada.presses("heddle_ask:deny:7", asked);
    await untilAcknowledged(slack);
    intake.next.push(async () => ({ kind: "refused", reply: "Somebody was faster." }));
    ada.submits("no");
    await untilAcknowledged(slack);
    expect(ada.modal()?.problem).toBe("Somebody was faster.");
  });

  test("are acknowledged only when the intake has them; what it could not take fails before the person", async () => {
    const { slack, intake, ada, asked } = await scene({ ackTimeoutMs: 100 });
    const arrived = Promise.withResolvers<void>();
    const persisted = Promise.withResolvers<void>();
    intake.next.push(async () => {
      arrived.resolve();
      await persisted.promise;
      return { kind: "acted", thread: "" };
    });
    const first = await ada.presses("heddle_act:approve:7", asked);
    await arrived.promise;
    expect(first.isAcknowledged).toBe(false);
    persisted.resolve();
    await slack.until(() => first.isAcknowledged);

    intake.next.push(async () => {
      throw new Error("Redis is away");
    });
    const second = await ada.presses("heddle_act:approve:7", asked);
    await slack.until(() => second.hasFailed);
    expect(second).toMatchObject({ isAcknowledged: false, attempts: 1 });
  });

  test("tell the person alone what nothing else shows", async () => {
    const { slack, intake, ada, asked } = await scene();
    intake.next.push(async () => ({ kind: "acted", thread: "t", reply: "That is noted." }));
    await ada.presses("heddle_act:approve:7", asked);
    await untilAcknowledged(slack);
    expect(ada.ephemerals()).toEqual(["That is noted."]);
  });

  test("say so when the window could not be opened in time", async () => {
    const { slack, ada, asked } = await scene();
    slack.fail("views.open", { kind: "refuse", error: "expired_trigger_id" });
    await ada.presses("heddle_ask:deny:7", asked);
    await untilAcknowledged(slack);
    expect(ada.ephemerals()).toEqual(["It took too long to open the window; please press again."]);
  });
});

describe("/agent", () => {
  test("begins a thread whose first message names the person and the task", async () => {
    const { slack, intake } = await startAdapter();
    const general = slack.channel("general");
    const ada = slack.user("ada");
    const bob = slack.user("bob");
    ada.commands(general, `/agent greet <@${bob.id}|bob> & <!channel> in *style*`);
    await untilAcknowledged(slack);
    const [root] = general.messages;
    expect(root && visibleText(root).replaceAll("\u200B", "")).toBe(
      `<@${ada.id}> asks:\ngreet @bob & @channel in *style*`,
    );
    expect(root).toMatchObject({ unfurls: false });
    expect(intake.events).toMatchObject([
      {
        kind: "message",
        thread: { channel: general.id, thread: root?.ts },
        ref: { message: root?.ts },
        author: { id: ada.id, standing: "member" },
        text: "greet @bob & @channel in *style*",
        addressed: "mention",
      },
    ]);
    expect(ada.ephemerals()).toEqual([]);
  });

  test("takes a model and a skill before the task, and shows them", async () => {
    const { slack, intake } = await startAdapter();
    const general = slack.channel("general");
    slack.user("ada").commands(general, "/agent model:fast SKILL:csv-report read model:x");
    await untilAcknowledged(slack);
    expect(intake.events).toMatchObject([
      { text: "read model:x", options: { model: "fast", skill: "csv-report" } },
    ]);
    const [root] = general.messages;
    expect(root && visibleText(root)).toMatch(/asks \(model fast, skill csv-report\):\nread model:x$/);
  });

  test("takes a prompt of an MCP server with its arguments, and shows which", async () => {
    const { slack, intake } = await startAdapter();
    const general = slack.channel("general");
    slack
      .user("ada")
      .commands(
        general,
        '/agent model:fast prompt:tickets/triage project=heddle since="last week" oldest first',
      );
    await untilAcknowledged(slack);
    const prompt = {
      ...{ server: "tickets", name: "triage" },
      arguments: { project: "heddle", since: "last week" },
    };
    expect(intake.events).toMatchObject([{ text: "oldest first", options: { model: "fast", prompt } }]);
    const [root] = general.messages;
    expect(root && visibleText(root)).toMatch(/asks \(model fast, prompt tickets\/triage\):\noldest first$/);
  });

  test.each([
    ["model:slow", { model: "slow" }],
    ["prompt:tickets/sort", { prompt: { server: "tickets", name: "sort" } }],
  ])("posts nothing for what cannot be chosen, and tells the person alone: %s", async (how, options) => {
    const { slack, intake } = await startAdapter();
    const [ada, general] = [slack.user("ada"), slack.channel("general")];
    intake.next.push(async (event) => {
      intake.events.push(event);
      return { kind: "refused", reply: "That cannot be chosen here." };
    });
    ada.commands(general, `/agent ${how} oldest first`);
    await untilAcknowledged(slack);
    expect(ada.ephemerals()).toEqual(["That cannot be chosen here."]);
    expect(general.messages).toEqual([]);
    expect(intake.events).toMatchObject([{ text: "oldest first", options, tellsRefusal: true }]);
  });

  test("asks in the thread for what a prompt lacks", async () => {
    const { slack, intake } = await startAdapter();
    const general = slack.channel("general");
    slack.user("ada").commands(general, "/agent prompt:tickets/triage oldest first");
    await untilAcknowledged(slack);
    expect(general.messages).toHaveLength(1);
    expect(intake.events).not.toMatchObject([{ tellsRefusal: true }]);
  });

  test("takes the order to plan first, also behind a model, and shows it", async () => {
    const { slack, intake } = await startAdapter();
    const general = slack.channel("general");
    slack.user("ada").commands(general, "/agent model:fast plan: move the report");
    await untilAcknowledged(slack);
    expect(intake.events).toMatchObject([{ text: "!plan move the report", options: { model: "fast" } }]);
    const [root] = general.messages;
    expect(root && visibleText(root)).toMatch(/asks \(model fast\):\n!plan move the report$/);
  });

  test.each([
    ["stop", "Slack does not tell me which thread you mean: write `!stop` in it, press its Stop button, or"],
    ["!Status", "Slack does not tell me which thread you mean: write `!status` in it."],
  ])("%s is no task, and the person is told where to write it", async (word, told) => {
    const { slack, intake } = await startAdapter();
    const general = slack.channel("general");
    slack.user("ada").commands(general, `/agent ${word}`);
    await untilAcknowledged(slack);
    expect(slack.user("ada").ephemerals()).toEqual([expect.stringContaining(told)]);
    expect([general.messages, intake.events]).toEqual([[], []]);
  });

  test("what no thread could carry out is intake's to answer, to the person alone", async () => {
    const { slack, intake } = await startAdapter();
    const general = slack.channel("general");
    intake.next.push(async (event) => {
      intake.events.push(event);
      return { kind: "refused", reply: "99 is the most." };
    });
    slack.user("ada").commands(general, "/agent undo 0");
    await untilAcknowledged(slack);
    expect(slack.user("ada").ephemerals()).toEqual(["99 is the most."]);
    expect(intake.events).toMatchObject([{ text: "/undo 0", tellsRefusal: true }]);
    expect(general.messages).toEqual([]);
  });

  test("queue is answered to the person alone, as intake knows it", async () => {
    const { slack, intake } = await startAdapter();
    const general = slack.channel("general");
    intake.next.push(async (event) => {
      intake.events.push(event);
      return { kind: "acted", thread: "slack:1:2:3", reply: "**Waiting** in this channel: nothing." };
    });
    slack.user("ada").commands(general, "/agent queue");
    await untilAcknowledged(slack);
    expect(slack.user("ada").ephemerals()).toEqual([
      expect.stringContaining("Waiting in this channel: nothing."),
    ]);
    expect(intake.events).toMatchObject([
      { kind: "message", text: "/queue", thread: { channel: general.id }, tellsRefusal: true },
    ]);
    expect(general.messages).toEqual([]);
  });

  test.each(["/agent", "/agent help", "/agent model:fast"])(
    "%s explains itself to the person",
    async (line) => {
      const { slack, intake } = await startAdapter();
      const general = slack.channel("general");
      slack.user("ada").commands(general, line);
      await untilAcknowledged(slack);
      expect(slack.user("ada").ephemerals().join()).toContain("`/agent <task>` starts a thread");
      expect([general.messages, intake.events]).toEqual([[], []]);
    },
  );

  test("is acknowledged while it still takes long, and what became of it is told afterwards", async () => {
    const { slack, intake } = await startAdapter({ ackTimeoutMs: 3_000 });
    const [ada, general] = [slack.user("ada"), slack.channel("general")];
    const outcome = takesLong(intake);
    const asked = ada.commands(general, "/agent build it");
    await untilAcknowledged(slack);
    expect([asked.hasFailed, general.messages.length, ada.ephemerals()]).toEqual([undefined, 1, []]);
    outcome.resolve({ kind: "ignored", why: "that channel is closed" });
    await slack.until(() => ada.ephemerals().length > 0);
    expect(ada.ephemerals()).toEqual(["That was not taken: that channel is closed."]);
    expect(general.messages).toEqual([]);
  });

  test("that may be taken all the same says so once it was acknowledged, and its question stays", async () => {
    const { slack, intake, adapter } = await startAdapter({ ackTimeoutMs: 3_000 });
    const [ada, general] = [slack.user("ada"), slack.channel("general")];
    const outcome = takesLong(intake);
    ada.commands(general, "/agent build it");
    await untilAcknowledged(slack);
    const stopped = adapter.stop();
    outcome.reject(new Error("Redis is away"));
    // What is in hand is finished first.
    await stopped;
    expect(ada.ephemerals()).toEqual([expect.stringMatching(/not make sure .+ before you ask again/)]);
    expect(general.messages).toMatchObject([{ text: expect.stringContaining("build it") }]);
  });

  test("that may be taken all the same does not fail before the person, who would send it again", async () => {
    const { slack, intake } = await startAdapter();
    const [ada, general] = [slack.user("ada"), slack.channel("general")];
    intake.next.push(async () => {
      throw new Error("Redis is away");
    });
    ada.commands(general, "/agent build it");
    await untilAcknowledged(slack);
    expect(ada.ephemerals()).toEqual([expect.stringMatching(/not make sure .+ before you ask again/)]);
    expect(general.messages).toMatchObject([{ text: expect.stringContaining("build it") }]);
  });

  test("whose question could not be posted says so once it was acknowledged", async () => {
    const { slack, intake } = await startAdapter({ ackTimeoutMs: 3_000 });
    const [ada, general] = [slack.user("ada"), slack.channel("general")];
    slack.fail("chat.postMessage", { kind: "stall" });
    ada.commands(general, "/agent build it");
    await untilAcknowledged(slack);
    await slack.until(() => ada.ephemerals().length > 0);
    expect(ada.ephemerals()).toEqual([expect.stringContaining("try again in a minute if not")]);
    expect([general.messages, intake.events]).toEqual([[], []]);
  });

  test("posts the task once, though Slack's answer is lost", async () => {
    const { slack, intake, adapter } = await startAdapter();
    const general = slack.channel("general");
    slack.fail("chat.postMessage", { kind: "lost-response" });
    const asked = slack.user("ada").commands(general, "/agent hi");
    await slack.until(() => general.messages.length > 0);
    // What is in hand is finished first.
    await adapter.stop();
    expect([general.messages.length, asked.isAcknowledged, intake.events]).toEqual([1, false, []]);
  });

  test("says that it cannot write where it is not", async () => {
    const { slack, intake } = await startAdapter();
    const ada = slack.user("ada");
    ada.commands(slack.channel("elsewhere", { withoutBot: true }), "/agent hi");
    ada.commands(slack.channel("secret", { kind: "private", withoutBot: true }), "/agent hi");
    await untilAcknowledged(slack);
    expect(ada.ephemerals()).toEqual([
      expect.stringContaining("/invite"),
      expect.stringContaining("/invite"),
    ]);
    expect(intake.events).toEqual([]);
  });

  test("shows the words of somebody without permission to nobody, and tells why to that person alone", async () => {
    const { slack, intake } = await startAdapter();
    const gus = slack.user("gus", { guest: true });
    const general = slack.channel("general");
    intake.next.push(async (event) => {
      intake.events.push(event);
      return { kind: "refused", reply: "Not from guests." };
    });
    gus.commands(general, "/agent say something rude");
    await untilAcknowledged(slack);
    expect(intake.events).toMatchObject([{ kind: "message", author: { id: gus.id }, tellsRefusal: true }]);
    expect(gus.ephemerals()).toEqual(["Not from guests."]);
    expect(general.messages).toEqual([]);
  });

  test("leaves nothing behind when the task was not taken", async () => {
    const { slack, intake } = await startAdapter();
    const general = slack.channel("general");
    const ada = slack.user("ada");
    intake.next.push(async () => ({ kind: "ignored", why: "that channel is closed" }));
    ada.commands(general, "/agent hi");
    await untilAcknowledged(slack);
    expect(ada.ephemerals()).toEqual(["That was not taken: that channel is closed."]);
    expect(general.messages).toEqual([]);
  });
});

describe("“Ask the agent about this”", () => {
  async function asks(about: (s: Awaited<ReturnType<typeof scene>>) => Promise<FakeMessage>) {
    const all = await scene({ ackTimeoutMs: 3_000 });
    const message = await about(all);
    await untilAcknowledged(all.slack);
    all.intake.events.length = 0;
    all.ada.chooses("heddle_about", message);
    await untilAcknowledged(all.slack);
    return { ...all, message };
  }

  test("takes the question in a modal and brings the message along as what somebody else wrote", async () => {
    const { slack, intake, ada, thread, message } = await asks(async ({ bob, general, root }) => {
      const text = `${"long ".repeat(700)}<@BOT> & more`;
      return bob.says(general, text, { thread: root.ts });
    });
    expect(ada.modal()?.view.title).toBe("Ask the agent");
    ada.submits("is that true?");
    await untilAcknowledged(slack);
    const asked = await slack.message(({ text }) => text.includes("is that true?"));
    expect(visibleText(asked)).toBe(`<@${ada.id}> asks about a message:\nis that true?`);
    expect(intake.events).toMatchObject([
      {
        kind: "message",
        thread,
        ref: { message: asked.ts },
        author: { name: "ada" },
        text: "is that true?",
        about: {
          author: { name: "bob", standing: "member" },
          text: expect.stringMatching(/^(long ){700}@U0HEDDLE & more$/),
          at: Math.floor(Number(message.ts) * 1_000),
        },
        addressed: "mention",
      },
    ]);
  });

  test("closes the modal while the question still takes long, so that nobody sends it again", async () => {
    const { slack, intake, ada, ...all } = await asks(async ({ bob, general }) => bob.says(general, "odd"));
    const outcome = takesLong(intake);
    const asked = ada.submits("is that true?");
    await untilAcknowledged(slack);
    expect([asked.hasFailed, ada.modal()]).toEqual([undefined, undefined]);
    outcome.resolve({ kind: "accepted", thread: "t", position: 1 });
    await slack.message(({ text }) => text.includes("is that true?"));
    expect(slack.transcript(all.general)).toContain("is that true?");
  });

  test("says in the modal what is in the way", async () => {
    const { slack, ada, message, intake } = await asks(async ({ bob, general }) =>
      bob.says(general, "soon gone"),
    );
    await slack.user("bob").deletes(message);
    await untilAcknowledged(slack);
    intake.events.length = 0;
    ada.submits("what?");
    await untilAcknowledged(slack);
    expect(ada.modal()?.problem).toBe("That message is no longer there.");
    expect(intake.events).toEqual([]);
  });
});

describe("A reaction that gives a message to the agent", () => {
  async function reacts(name = "robot_face", as = "ada") {
    const all = await scene();
    const message = await all.bob.says(all.general, "the build is red, see https://ci/1", {
      thread: all.root.ts,
    });
    await untilAcknowledged(all.slack);
    all.intake.events.length = 0;
    await all.slack.user(as).reacts(name, message);
    await untilAcknowledged(all.slack);
    const asked = () => all.general.messages.filter(({ text }) => text.includes("asks about a message"));
    return { ...all, message, asked };
  }

  test("asks in the name of whoever put it there, and quotes the message", async () => {
    const { intake, ada, thread, message, asked } = await reacts();
    const [posted] = asked();
    expect(posted && visibleText(posted)).toContain(`<@${ada.id}> asks about a message:`);
    expect(posted?.threadTs).toBe(thread.thread);
    expect(intake.events).toMatchObject([
      {
        ...{ kind: "message", thread, ref: { message: posted?.ts }, addressed: "mention" },
        author: { id: ada.id, name: "ada" },
        about: { author: { name: "bob" }, text: message.text },
      },
    ]);
  });

  test("with a skin tone is the same, and every other does nothing", async () => {
    const other = await reacts("eyes");
    expect([other.asked(), other.intake.events]).toEqual([[], []]);
    expect((await reacts("robot_face::skin-tone-2")).asked()).toHaveLength(1);
  });

  test("that Slack tells of again, since it was not certain that it was taken, asks once", async () => {
    const { slack, intake, bob, general, root, ada } = await scene({ ackTimeoutMs: 200 });
    const message = await bob.says(general, "look", { thread: root.ts });
    await untilAcknowledged(slack);
    intake.events.length = 0;
    const away = async () => {
      throw new Error("Redis is away");
    };
    intake.next.push(away, away);
    await ada.reacts("robot_face", message);
    await slack.until(() => intake.events.length > 0);
    await untilAcknowledged(slack);
    const asked = general.messages.filter(({ text }) => text.includes("asks about a message"));
    expect(asked).toHaveLength(1);
    expect(intake.events).toMatchObject([{ kind: "message", ref: { message: asked[0]?.ts } }]);
    expect(slack.calls.filter(({ method }) => method === "chat.delete")).toEqual([]);
  });

  test("by somebody who may not ask posts nothing and tells them alone", async () => {
    const all = await scene();
    const gus = all.slack.user("gus", { guest: true });
    await gus.says(all.general, "hello", { thread: all.root.ts });
    const message = await all.bob.says(all.general, "look", { thread: all.root.ts });
    await untilAcknowledged(all.slack);
    all.intake.next.push(async () => ({ kind: "refused", reply: "Guests may not give me work." }));
    await gus.reacts("robot_face", message);
    await untilAcknowledged(all.slack);
    expect(gus.ephemerals()).toEqual(["Guests may not give me work."]);
    expect(all.general.messages.filter(({ text }) => text.includes("asks about"))).toEqual([]);
  });

  test("by somebody who may not ask tells them in the channel where the message has no replies", async () => {
    const { slack, bob, general, intake } = await scene();
    const gus = slack.user("gus", { guest: true });
    await gus.says(general, "hello");
    const message = await bob.says(general, "The build is red.");
    await untilAcknowledged(slack);
    intake.next.push(async () => ({ kind: "refused", reply: "Guests may not give me work." }));
    await gus.reacts("robot_face", message);
    await untilAcknowledged(slack);
    expect(gus.ephemerals()).toEqual(["Guests may not give me work."]);
  });

  test("on a message that is gone says so to that person alone", async () => {
    const { slack, bob, general, ada, intake } = await scene();
    const message = await bob.says(general, "soon gone");
    await untilAcknowledged(slack);
    intake.events.length = 0;
    slack.fail("conversations.replies", { kind: "refuse", error: "thread_not_found" });
    await ada.reacts("robot_face", message);
    await untilAcknowledged(slack);
    expect(ada.ephemerals()).toEqual(["That message is no longer there."]);
    expect(intake.events).toEqual([]);
  });
});
