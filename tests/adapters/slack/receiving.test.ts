import { pino } from "pino";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createEarlyEvents } from "../../../src/adapters/slack/inbound/early-events.ts";
import { buttonRow } from "../../../src/adapters/slack/surface/buttons.ts";
import { createSlackSurface } from "../../../src/adapters/slack/surface/surface.ts";
import type { OpenMessage } from "../../../src/chat/downtime.ts";
import type { InboundEvent, IntakeResult } from "../../../src/chat/inbound.ts";
import { type FakeSlack, startFakeSlack } from "../../fakes/slack/fake-slack.ts";
import {
  adapterFor,
  startAdapter,
  nobodyWasHere,
  recordingIntake,
  untilAcknowledged,
} from "./connected-adapter.ts";

const log = pino({ level: "silent" });

function surfaceOf(slack: FakeSlack) {
  return createSlackSurface({ botToken: slack.botToken, apiUrl: slack.url, log });
}

const rate = { id: "rate", label: "👍", style: "plain" } as const;

describe("messages", () => {
  test("a mention comes in twice, as the same event, without the mention", async () => {
    const { slack, intake } = await startAdapter();
    const general = slack.channel("general");
    const ada = slack.user("ada", { admin: true });
    const message = await ada.says(general, "<@BOT>: is 1 < 2 & 3 > 2?");
    await untilAcknowledged(slack);

    const [first, second] = slack.deliveries;
    expect(slack.deliveries.map(({ type }) => type)).toEqual(["app_mention", "message"]);
    expect(first?.payload["event_id"]).not.toBe(second?.payload["event_id"]);
    expect(intake.events[0]).toEqual({
      kind: "message",
      thread: { platform: "slack", workspace: slack.teamId, channel: general.id, thread: message.ts },
      ref: { platform: "slack", workspace: slack.teamId, channel: general.id, message: message.ts },
      author: { id: ada.id, name: "ada", standing: "member", roles: ["admin"] },
      text: "is 1 < 2 & 3 > 2?",
      attachments: [],
      addressed: "mention",
      at: Math.floor(Number(message.ts) * 1_000),
    } satisfies InboundEvent);
    expect(intake.events[1]).toEqual(intake.events[0]);
  });

  test("a reply in a thread without a mention is a follow-up, with a mention it is not", async () => {
    const { slack, intake } = await startAdapter();
    const general = slack.channel("general");
    const ada = slack.user("ada");
    const start = await ada.says(general, "<@BOT> start");
    await untilAcknowledged(slack);
    intake.events.length = 0;
    await ada.says(general, "use tabs", { thread: start.ts });
    await ada.says(general, "seen by all", { thread: start.ts, broadcast: true });
    await ada.says(general, "and now <@BOT> go on", { thread: start.ts });
    await untilAcknowledged(slack);

    const messages = intake.events.flatMap((event) => (event.kind === "message" ? [event] : []));
    expect(messages.map(({ text, addressed }) => [text, addressed])).toEqual([
      ["use tabs", "follow-up"],
      ["seen by all", "follow-up"],
      ["and now @U0HEDDLE go on", "mention"],
      ["and now @U0HEDDLE go on", "mention"],
    ]);
    expect(new Set(messages.map(({ thread }) => thread.thread))).toEqual(new Set([start.ts]));
  });

  test("a direct message needs no mention and starts a thread of its own", async () => {
    const { slack, intake } = await startAdapter();
    const ada = slack.user("ada");
    const direct = slack.direct(ada);
    const message = await ada.says(direct, "hi");
    await ada.says(direct, "more", { thread: message.ts });
    await untilAcknowledged(slack);

    expect(intake.events).toMatchObject([
      { text: "hi", addressed: "direct", thread: { channel: direct.id, thread: message.ts } },
      { text: "more", addressed: "direct", thread: { channel: direct.id, thread: message.ts } },
    ]);
  });

  test("a prompt that the app's messages suggest is a task, and opening them is none", async () => {
    const { slack, intake } = await startAdapter();
    const ada = slack.user("ada");
    ada.opensApp("messages");
    for (const { message } of slack.suggestions) await ada.says(slack.direct(ada), message);
    await untilAcknowledged(slack);
    expect(slack.suggestions).toHaveLength(3);
    expect(intake.events).toMatchObject(
      slack.suggestions.map(({ message }) => ({ addressed: "direct", text: message })),
    );
  });

  test("an edit and a deletion come in with the message that they are about", async () => {
    const { slack, intake } = await startAdapter();
    const general = slack.channel("general");
    const ada = slack.user("ada");
    const root = await ada.says(general, "<@BOT> start");
    const reply = await ada.says(general, "use tabs", { thread: root.ts });
    await ada.edits(reply, "use <spaces>");
    await ada.deletes(reply);
    const files = [{ name: "a.csv", content: "1" }];
    await ada.edits(await ada.says(general, "reed", { thread: root.ts, files }), "read");
    await ada.edits(await ada.says(general, "for al", { thread: root.ts, broadcast: true }), "for all");
    await ada.says(general, "never mind", { thread: root.ts });
    // In the place of a message with replies Slack leaves another one.
    await ada.deletes(root);
    await untilAcknowledged(slack);

    const place = { platform: "slack", workspace: slack.teamId, channel: general.id };
    const about = {
      thread: { ...place, thread: root.ts },
      ref: { ...place, message: reply.ts },
      author: { name: "ada", standing: "member" },
    };
    expect(intake.events.filter(({ kind }) => kind !== "message")).toMatchObject([
      { kind: "edit", ...about, text: "use <spaces>" },
      { kind: "delete", ...about },
      { kind: "edit", text: "read" },
      { kind: "edit", text: "for all" },
      { kind: "delete", ...about, ref: { ...place, message: root.ts } },
    ]);
  });

  test("a message of a bot comes in as one, but not what another Heddle shows of its progress", async () => {
    const { slack, intake } = await startAdapter();
    const general = slack.channel("general");
    const root = await slack.user("ada").says(general, "talk");
    const robot = slack.user("other agent", { bot: true });
    await robot.says(general, "<@BOT> hello", { thread: root.ts });
    const buttons = (message: Parameters<typeof buttonRow>[0]) => [
      { type: "markdown", text: "…" },
      ...buttonRow(message).map((row) => ({ ...row })),
    ];
    await robot.says(general, "working", { thread: root.ts, blocks: buttons({ stoppable: true }) });
    await robot.says(general, "done", { thread: root.ts, blocks: buttons({ actions: [rate] }) });
    await untilAcknowledged(slack);
    expect(intake.events).toMatchObject([
      { kind: "message", text: "hello", author: { standing: "bot" } },
      { kind: "message", text: "done" },
    ]);
  });

  test("a forwarded message comes in as a quotation of somebody else, with its cards and files", async () => {
    const { slack, intake } = await startAdapter();
    const general = slack.channel("general");
    const [ada, bob] = [slack.user("ada"), slack.user("bob")];
    const file = { id: "F1", name: "log.txt", mimetype: "text/plain", size: 1, url_private_download: "x" };
    const share = { is_share: true, author_name: "bob", text: "It &lt;broke&gt;", files: [file] };
    const fields = [{ title: "Build", value: "7" }];
    await ada.says(general, "<@BOT> look into this", { attachments: [share, { is_share: true, fields }] });
    // The preview of an address is none.
    await bob.says(general, "<@BOT> and this", { attachments: [{ title: "A page", from_url: "https://a" }] });
    await untilAcknowledged(slack);
    const messages = intake.events.flatMap((event) => (event.kind === "message" ? [event] : []));
    const forwards = messages.filter(({ author }) => author.name === "ada");
    // A mention comes twice.
    expect(forwards).toHaveLength(2);
    for (const { text, about, attachments } of forwards) {
      expect([text, attachments]).toEqual(["look into this", []]);
      expect(about).toMatchObject({
        text: "bob\nIt <broke>\nBuild: 7\n(file: log.txt)",
        author: { standing: "external" },
        attachments: [{ name: "log.txt", bytes: 1 }],
      });
    }
    expect(messages.filter(({ author }) => author.name === "bob").map(({ about }) => about)).toEqual([
      undefined,
      undefined,
    ]);
  });

  test("talk in a channel and its own messages do not come in", async () => {
    const { slack, intake } = await startAdapter();
    const general = slack.channel("general");
    const ada = slack.user("ada");
    await ada.says(general, "lunch?");
    const root = await ada.says(general, "thread");
    const thread = { platform: "slack", workspace: slack.teamId, channel: general.id, thread: root.ts };
    const surface = surfaceOf(slack);
    const [ref] = await surface.post(thread, { kind: "answer", markdown: "I am a bot" }, "k");
    if (!ref) throw new Error("Nothing was posted.");
    await surface.edit(ref, { kind: "answer", markdown: "I am" });
    await surface.remove(ref);
    await untilAcknowledged(slack);

    expect(slack.deliveries.length).toBeGreaterThan(4);
    expect(intake.events).toEqual([]);
  });

  test("files come as handles", async () => {
    const { slack, intake } = await startAdapter();
    const general = slack.channel("general");
    await slack
      .user("ada")
      .says(general, "<@BOT> read this", { files: [{ name: "a b.csv", content: "1,2" }] });
    await untilAcknowledged(slack);

    const [event] = intake.events;
    expect(event).toMatchObject({
      text: "read this",
      attachments: [{ name: "a b.csv", mediaType: "text/plain", bytes: 3 }],
    });
    const [file] = event?.kind === "message" ? event.attachments : [];
    if (!file) throw new Error("No file came.");
    const chunks = await Array.fromAsync(surfaceOf(slack).download?.(file, AbortSignal.timeout(5_000)) ?? []);
    expect(Buffer.concat(chunks).toString()).toBe("1,2");
  });

  test("a file of another organisation comes by its id, also without a word beside it", async () => {
    const { slack, intake } = await startAdapter();
    const files = [{ name: "plan.pdf", content: "x", isForeign: true }];
    const eve = slack.user("eve", { external: true });
    await eve.says(slack.direct(eve), "", { files });
    await untilAcknowledged(slack);
    const [event] = intake.events;
    expect(event).toMatchObject({ text: "", author: { standing: "external" } });
    const [file] = event?.kind === "message" ? event.attachments : [];
    expect(file).toMatchObject({ name: expect.stringMatching(/^F/), bytes: 0 });
    expect(file && (await surfaceOf(slack).details?.(file, AbortSignal.timeout(5_000)))).toMatchObject({
      name: "plan.pdf",
    });
  });

  test("a name that is known is shown for a mention", async () => {
    const { slack, intake } = await startAdapter();
    const general = slack.channel("general");
    const ada = slack.user("ada");
    await slack.user("bob").says(general, "<@BOT> hi");
    await untilAcknowledged(slack);
    await ada.says(general, `<@BOT> ask <@${slack.user("bob").id}> and <@${slack.user("eve").id}>`);
    await untilAcknowledged(slack);

    expect(intake.events.at(-1)).toMatchObject({ text: `ask @bob and @${slack.user("eve").id}` });
  });
});

describe("authors", () => {
  test.each([
    ["a guest", { guest: true }, "guest"],
    ["somebody of another organisation", { external: true }, "external"],
    ["somebody whose account was closed", { deactivated: true }, "external"],
    ["a member", {}, "member"],
  ])("%s is told apart", async (_who, options, standing) => {
    const { slack, intake } = await startAdapter();
    await slack.user("ada", options).says(slack.channel("general"), "<@BOT> hi");
    await untilAcknowledged(slack);
    expect(intake.events[0]?.author.standing).toBe(standing);
  });

  test("what Slackbot says for somebody is not said by a member", async () => {
    const { slack, intake } = await startAdapter();
    await slack.user("slackbot").says(slack.channel("general"), "<@BOT> hi");
    await untilAcknowledged(slack);
    expect(intake.events[0]?.author.standing).toBe("bot");
  });

  test("without the scope to ask, everybody counts as a guest", async () => {
    const { slack, intake } = await startAdapter({ withoutScopes: ["users:read"] });
    const ada = slack.user("ada");
    await ada.says(slack.channel("general"), "<@BOT> hi");
    await untilAcknowledged(slack);
    expect(intake.events[0]?.author).toEqual({
      ...{ id: ada.id, name: ada.id, standing: "guest", roles: [] },
      unseenFor: "users:read",
    });
  });

  test("a person is looked up once, though the mention comes twice", async () => {
    const { slack } = await startAdapter();
    const ada = slack.user("ada");
    await ada.says(slack.channel("general"), "<@BOT> hi");
    await ada.says(slack.channel("general"), "<@BOT> again");
    await untilAcknowledged(slack);
    expect(slack.calls.filter(({ method }) => method === "users.info")).toHaveLength(1);
  });
});

describe("stops", () => {
  test("a stop reaction stops the message's thread, whatever its skin tone; others do not", async () => {
    const { slack, intake } = await startAdapter();
    const general = slack.channel("general");
    const ada = slack.user("ada");
    const message = await ada.says(general, "hm");
    await ada.reacts("eyes", message);
    await ada.reacts("octagonal_sign", message);
    await ada.reacts("hand::skin-tone-3", message);
    await untilAcknowledged(slack);

    const ref = { platform: "slack", workspace: slack.teamId, channel: general.id, message: message.ts };
    expect(intake.events).toMatchObject([
      { kind: "stop", target: { message: ref }, author: { id: ada.id, name: "ada" } },
      { kind: "stop", target: { message: ref } },
    ]);
    expect(intake.events[0]?.at).toBeGreaterThanOrEqual(Math.floor(Number(message.ts) * 1_000));
  });

  test("the bot's own stopped mark is no stop", async () => {
    const { slack, intake } = await startAdapter();
    const general = slack.channel("general");
    const message = await slack.user("ada").says(general, "hm");
    await surfaceOf(slack).mark(
      { platform: "slack", workspace: slack.teamId, channel: general.id, message: message.ts },
      "stopped",
    );
    await untilAcknowledged(slack);
    expect(slack.deliveries.map(({ type }) => type)).toContain("reaction_added");
    expect(intake.events).toEqual([]);
  });

  test("the Stop button and Slack's own Stop stop the thread", async () => {
    const { slack, intake } = await startAdapter();
    const general = slack.channel("general");
    const ada = slack.user("ada");
    const root = await ada.says(general, "root");
    const thread = { platform: "slack", workspace: slack.teamId, channel: general.id, thread: root.ts };
    const surface = surfaceOf(slack);
    await surface.post(thread, { kind: "progress", markdown: "working", stoppable: true }, "k");
    await surface.status?.(thread, "is thinking…");
    const progress = await slack.message(({ text }) => text === "working");
    await ada.presses("heddle_stop", progress);
    await ada.stops(general, root.ts);
    await untilAcknowledged(slack);

    expect(intake.events).toMatchObject([
      { kind: "stop", target: { thread }, author: { name: "ada" } },
      { kind: "stop", target: { thread }, author: { name: "ada" } },
    ]);
  });
});

describe("persist, then acknowledge", () => {
  test("an event is acknowledged only when the intake has taken it", async () => {
    const { slack, intake } = await startAdapter();
    const arrived = Promise.withResolvers<void>();
    const persisted = Promise.withResolvers<IntakeResult>();
    intake.next.push((_event) => {
      arrived.resolve();
      return persisted.promise;
    });
    const ada = slack.user("ada");
    await ada.says(slack.direct(ada), "hi");
    await arrived.promise;
    // A later event passes, so the first one is not waiting for its turn.
    await ada.says(slack.direct(ada), "later");
    await slack.until(() => slack.deliveries[1]?.isAcknowledged);
    expect(slack.deliveries[0]?.isAcknowledged).toBe(false);

    persisted.resolve({ kind: "duplicate" });
    await untilAcknowledged(slack);
  });

  test("an event that the intake could not take is not acknowledged, and comes again", async () => {
    const { slack, intake } = await startAdapter({ ackTimeoutMs: 250 });
    intake.next.push(async () => {
      throw new Error("Redis is away");
    });
    const ada = slack.user("ada");
    await ada.says(slack.direct(ada), "hi");
    await untilAcknowledged(slack);

    expect(slack.deliveries[0]?.attempts).toBeGreaterThan(1);
    expect(intake.events[0]).toMatchObject({ text: "hi" });
  });

  test.each([
    ["limits the rate", { kind: "rate-limit", retryAfterSeconds: 1 }],
    ["fails", { kind: "refuse", error: "internal_error" }],
    ["is answered for by something else", { kind: "page" }],
  ] as const)("an event whose author Slack does not tell since it %s comes again", async (_why, fault) => {
    const { slack, intake } = await startAdapter({ ackTimeoutMs: 250 });
    slack.fail("users.info", fault);
    const ada = slack.user("ada");
    await ada.says(slack.direct(ada), "hi");
    await untilAcknowledged(slack);
    expect(slack.deliveries[0]?.attempts).toBeGreaterThan(1);
    expect(intake.events[0]).toMatchObject({ text: "hi", author: { standing: "member" } });
  });

  test("stopping waits for the event in hand and takes no other", async () => {
    const { slack, intake, adapter } = await startAdapter();
    const arrived = Promise.withResolvers<void>();
    const persisted = Promise.withResolvers<IntakeResult>();
    intake.next.push((_event) => {
      arrived.resolve();
      return persisted.promise;
    });
    const ada = slack.user("ada");
    await ada.says(slack.direct(ada), "first");
    await arrived.promise;
    const stopped = adapter.stop();
    await ada.says(slack.direct(ada), "second");
    persisted.resolve({ kind: "duplicate" });
    await stopped;

    expect(slack.deliveries.map(({ isAcknowledged }) => isAcknowledged)).toEqual([true, false]);
    expect(intake.events).toEqual([]);
    await slack.until(() => slack.connections === 0);
  });
});

describe("catching up", () => {
  test("finds what was sent while nobody listened, in threads too, in its order and as it reads now", async () => {
    const slack = await startFakeSlack();
    const general = slack.channel("general");
    const ada = slack.user("ada");
    const before = await ada.says(general, "<@BOT> long ago");
    const since = Date.now() + 1;
    while (Date.now() <= since) await new Promise(setImmediate);
    const mention = await ada.says(general, "<@BOT> start");
    await ada.edits(mention, `<@${slack.bot.id}> start anew`);
    await ada.says(general, "go on", { thread: before.ts });
    await ada.says(slack.direct(ada), "hello?");
    slack.forget();

    const noted = Promise.withResolvers<void>();
    const intake = recordingIntake();
    const thread = { platform: "slack", workspace: slack.teamId, channel: general.id, thread: before.ts };
    const adapter = adapterFor(slack, {
      ...nobodyWasHere,
      lastConnectedAt: async () => since,
      markConnected: async () => noted.resolve(),
      threads: async () => [thread],
      open: async () => [],
    });
    onTestFinished(async () => {
      await adapter.stop();
      await slack.close();
    });
    await adapter.start(intake);
    await noted.promise;

    expect(intake.events).toMatchObject([
      { kind: "message", text: "start anew", addressed: "mention" },
      { kind: "message", text: "go on", addressed: "follow-up", thread },
      { kind: "message", text: "hello?", addressed: "direct" },
    ]);
  });

  test("takes a missed message that has replies for no reply itself", async () => {
    const slack = await startFakeSlack();
    const [general, watched] = [slack.channel("general"), slack.channel("watched")];
    const ada = slack.user("ada");
    const since = Date.now() - 1;
    const lunch = await ada.says(general, "lunch?");
    const mention = await ada.says(general, "<@BOT> start");
    const alert = await ada.says(watched, "is it down?");
    for (const root of [lunch, mention, alert]) await ada.says(root.channel, "yes", { thread: root.ts });
    slack.forget();
    const noted = Promise.withResolvers<void>();
    const intake = recordingIntake();
    const downtime = { lastConnectedAt: async () => since, markConnected: async () => noted.resolve() };
    const adapter = adapterFor(slack, { ...nobodyWasHere, ...downtime }, undefined, undefined, "watched");
    onTestFinished(async () => {
      await adapter.stop();
      await slack.close();
    });
    await adapter.start(intake);
    await noted.promise;
    expect(intake.events).toMatchObject([
      { kind: "message", text: "start", addressed: "mention", thread: { thread: mention.ts } },
      { kind: "message", text: "is it down?", addressed: "none", thread: { thread: alert.ts } },
    ]);
  });

  test("leaves no channel out because Slack fails when it is asked for it", async () => {
    const slack = await startFakeSlack();
    const since = Date.now() - 1;
    await slack.user("ada").says(slack.channel("general"), "<@BOT> start");
    slack.forget();
    slack.fail("conversations.history", { kind: "refuse", error: "internal_error" });
    const intake = recordingIntake();
    /** What had come in by the time at which all that was missed counts as found. */
    const found: number[] = [];
    const markConnected = async () => void found.push(intake.events.length);
    const adapter = adapterFor(slack, {
      ...nobodyWasHere,
      ...{ lastConnectedAt: async () => since, markConnected },
    });
    onTestFinished(async () => {
      await adapter.stop();
      await slack.close();
    });
    await adapter.start(intake);
    await slack.until(() => slack.countFaults("conversations.history") === 0);
    // The next look, which otherwise comes some seconds later.
    slack.cut();
    await expect.poll(() => found[0]).toBe(1);
    expect(intake.events).toMatchObject([{ kind: "message", text: "start" }]);
  });

  test("finds what became of the messages that are worked on: edits, deletions and a 🛑", async () => {
    const slack = await startFakeSlack();
    const general = slack.channel("general");
    const ada = slack.user("ada");
    const root = await ada.says(general, "<@BOT> begin");
    const [changed, gone, same, shown] = [
      await ada.says(general, "count to 9", { thread: root.ts }),
      await ada.says(general, "and the weather", { thread: root.ts }),
      await ada.says(general, "in French", { thread: root.ts }),
      await slack.user("ci", { bot: true }).says(general, "Working", { thread: root.ts }),
    ];
    const alone = await ada.says(general, "<@BOT> alone");
    const since = Date.now() + 1;
    while (Date.now() <= since) await new Promise(setImmediate);
    await ada.edits(changed, "count to 10");
    await ada.edits(same, "in Latin");
    await ada.deletes(gone);
    await ada.deletes(alone);
    await ada.reacts("octagonal_sign", shown);
    await ada.reacts("eyes", shown);
    // Long ago, of another turn.
    await ada.reacts("octagonal_sign", root);
    slack.forget();

    const place = { platform: "slack", workspace: slack.teamId, channel: general.id };
    const thread = { ...place, thread: root.ts };
    const open = (message: { ts: string }, text: string, where = thread): OpenMessage => ({
      ...{ thread: where, ref: { ...place, message: message.ts } },
      written: { author: { id: ada.id, name: "ada" }, text },
    });
    const noted = Promise.withResolvers<void>();
    const intake = recordingIntake();
    const adapter = adapterFor(slack, {
      ...nobodyWasHere,
      lastConnectedAt: async () => since,
      markConnected: async () => noted.resolve(),
      threads: async () => [thread],
      open: async () => [
        open(changed, "count to 9"),
        open(gone, "and the weather"),
        // This edit was told before.
        open(same, "in Latin"),
        open(alone, "alone", { ...place, thread: alone.ts }),
        { thread, ref: { ...place, message: shown.ts } },
      ],
    });
    onTestFinished(async () => {
      await adapter.stop();
      await slack.close();
    });
    await adapter.start(intake);
    await noted.promise;

    const author = { id: ada.id, name: "ada", standing: "member" };
    expect(intake.events).toMatchObject([
      { kind: "edit", thread, ref: { message: changed.ts }, author, text: "count to 10" },
      { kind: "delete", thread, ref: { message: gone.ts }, author },
      { kind: "delete", thread: { thread: alone.ts }, ref: { message: alone.ts }, author },
      { kind: "stop", target: { message: { ...place, message: shown.ts } }, author, at: since },
    ]);
  });

  test("finds a 🛑 on a message that was missed itself, behind the message", async () => {
    const slack = await startFakeSlack();
    const ada = slack.user("ada");
    const since = Date.now() - 1;
    const mention = await ada.says(slack.channel("general"), "<@BOT> start");
    await ada.reacts("hand::skin-tone-3", mention);
    slack.forget();
    const noted = Promise.withResolvers<void>();
    const intake = recordingIntake();
    const present = async () => noted.resolve();
    const adapter = adapterFor(slack, {
      ...nobodyWasHere,
      lastConnectedAt: async () => since,
      markConnected: present,
    });
    onTestFinished(async () => {
      await adapter.stop();
      await slack.close();
    });
    await adapter.start(intake);
    await noted.promise;
    const [message, stop] = intake.events;
    expect(message).toMatchObject({ kind: "message", text: "start" });
    expect(stop).toMatchObject({ kind: "stop", target: { message: { message: mention.ts } } });
    expect(stop?.at).toBe(message?.at);
  });

  test("finds what Slack gave up since it did not tell its author, though the connection was never lost", async () => {
    const since = Date.now() - 1;
    const present = Promise.withResolvers<void>();
    const markConnected = async () => present.resolve();
    const { slack, intake } = await startAdapter(
      {},
      { ...nobodyWasHere, lastConnectedAt: async () => since, markConnected },
    );
    await present.promise;
    slack.fail("users.info", { kind: "refuse", error: "internal_error" });
    const ada = slack.user("ada");
    await ada.says(slack.direct(ada), "deploy");
    await slack.until(() => slack.countFaults("users.info") === 0);
    slack.forget();
    await expect.poll(() => intake.events).toMatchObject([{ text: "deploy", author: { name: "ada" } }]);
  });

  test("looks again after every new connection, and notes presence only behind it", async () => {
    const looks: string[] = [];
    const { slack } = await startAdapter(
      {},
      {
        ...nobodyWasHere,
        lastConnectedAt: async () => void looks.push("looked"),
        markConnected: async () => void looks.push("present"),
        threads: async () => [],
        open: async () => [],
      },
    );
    await expect.poll(() => looks).toEqual(["looked", "present"]);
    slack.cut();
    await expect.poll(() => looks).toEqual(["looked", "present", "looked", "present"]);
  });
});

test("A reply that is told before the mention of its thread is offered again", async () => {
  const { slack, intake } = await startAdapter();
  const [ada, general] = [slack.user("ada"), slack.channel("general")];
  const root = await ada.says(general, "look");
  await untilAcknowledged(slack);
  const unclaimed: IntakeResult = { kind: "ignored", why: "no session", unclaimed: true };
  intake.next.push(async () => unclaimed);
  await ada.says(general, "and hurry", { thread: root.ts });
  await untilAcknowledged(slack);
  expect(intake.events).toEqual([]);
  const accepted: IntakeResult = {
    kind: "accepted",
    thread: `slack:${slack.teamId}:${general.id}:${root.ts}`,
    position: 0,
  };
  intake.next.push(async () => accepted);
  await ada.says(general, "<@BOT> do it", { thread: root.ts });
  await untilAcknowledged(slack);
  // Slack tells the mention twice, and this intake has accepted it once.
  const texts = intake.events.map((event) => (event.kind === "message" ? event.text : event.kind));
  expect(texts.toSorted()).toEqual(["and hurry", "do it"]);
});

test("An edit that is told before its message is offered again behind it", async () => {
  const { slack, intake } = await startAdapter();
  const [ada, general] = [slack.user("ada"), slack.channel("general")];
  const message = await ada.says(general, "count the lins");
  await untilAcknowledged(slack);
  intake.next.push(async () => ({ kind: "ignored", why: "nobody works on that message" }));
  await ada.edits(message, "count the lines");
  await untilAcknowledged(slack);
  expect(intake.events).toEqual([]);
  intake.next.push(async () => ({
    ...{ kind: "accepted", position: 0 },
    thread: `slack:${slack.teamId}:${general.id}:${message.ts}`,
  }));
  await ada.says(general, "<@BOT> and this", { thread: message.ts });
  await untilAcknowledged(slack);
  expect(intake.events).toContainEqual(expect.objectContaining({ kind: "edit", text: "count the lines" }));
});

/** What is offered to an intake that has nothing to do with any of it. */
function offerToNobody() {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const offered: InboundEvent[] = [];
  const early = createEarlyEvents(
    {
      async receive(event) {
        offered.push(event);
        return { kind: "ignored", why: "no session", unclaimed: true };
      },
    },
    (error) => expect.fail(String(error)),
  );
  return { offered, early };
}

test("What was done to a message of long ago is offered once", async () => {
  const { offered, early } = offerToNobody();
  const place = { platform: "slack", workspace: "T", channel: "C" };
  const thread = { ...place, thread: "100.000000" };
  const author = { id: "U", name: "Ada", standing: "member" as const, roles: [] };
  for (const at of [101_000, 200_000])
    await early.receive({
      ...{ kind: "delete", thread, ref: { ...place, message: "100.000000" }, author, at },
    });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(offered.map(({ at }) => at)).toEqual([101_000, 200_000, 101_000]);
});

test("A reply in a thread that nobody has given to the bot is offered twice and then forgotten", async () => {
  const { offered, early } = offerToNobody();
  const place = { platform: "slack", workspace: "T", channel: "C" };
  await early.receive({
    ...{
      kind: "message",
      thread: { ...place, thread: "1" },
      ref: { ...place, message: "2" },
      text: "lunch?",
    },
    ...{ attachments: [], addressed: "follow-up", at: 0 },
    author: { id: "U", name: "Ada", standing: "member", roles: [] },
  });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(offered).toHaveLength(2);
});

describe("the connection", () => {
  test("is renewed when Slack asks for it, and what came in between arrives", async () => {
    const { slack, intake } = await startAdapter();
    slack.refresh();
    await slack.until(() => slack.connections === 0);
    const ada = slack.user("ada");
    await ada.says(slack.direct(ada), "are you there?");
    await untilAcknowledged(slack);
    expect(slack.connections).toBe(1);
    expect(intake.events).toMatchObject([{ text: "are you there?" }]);
  });

  test("is back at once each time, however often Slack renews it", async () => {
    const { slack, intake } = await startAdapter();
    const ada = slack.user("ada");
    const startedAt = performance.now();
    for (let renewal = 0; renewal < 10; renewal += 1) {
      slack.refresh();
      await slack.until(() => slack.connections === 0);
      await ada.says(slack.direct(ada), `between ${renewal}`);
      await untilAcknowledged(slack);
    }
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    expect(intake.events).toHaveLength(10);
  });

  test("comes back after a cut, and after Slack refused it for a while", async () => {
    const { slack, intake } = await startAdapter();
    slack.fail("apps.connections.open", { kind: "http", status: 503 });
    slack.fail("apps.connections.open", { kind: "refuse", error: "internal_error" });
    slack.cut();
    await slack.until(() => slack.connections === 0);
    await slack.until(() => slack.connections === 1);
    const ada = slack.user("ada");
    await ada.says(slack.direct(ada), "back?");
    await untilAcknowledged(slack);
    expect(intake.events).toMatchObject([{ text: "back?" }]);
  });

  test("comes back although Slack hangs up before it says hello", async () => {
    const { slack } = await startAdapter();
    slack.hangUp();
    slack.refresh();
    await slack.until(() => slack.connections === 0);
    await slack.until(() => slack.connections === 1);
  });

  test("can be ended while it is coming back, without a stray rejection", async () => {
    const { slack, adapter } = await startAdapter();
    slack.cut();
    await slack.until(() => slack.connections === 0);
    await adapter.stop();
    expect(slack.connections).toBe(0);
  });
});
