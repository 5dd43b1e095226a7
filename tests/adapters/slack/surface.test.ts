import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { createWebClient } from "../../../src/adapters/slack/connection/web.ts";
import { createFeatures } from "../../../src/adapters/slack/surface/features.ts";
import { createThreadStatus } from "../../../src/adapters/slack/surface/status.ts";
import { createSlackSurface } from "../../../src/adapters/slack/surface/surface.ts";
import type { Decision, Question } from "../../../src/agent/questions.ts";
import type { OutboundMessage } from "../../../src/chat/outbound.ts";
import { renderDecision, renderQuestion } from "../../../src/progress/question-messages.ts";
import { notified, visibleText } from "../../fakes/slack/blocks.ts";
import { failure, scene } from "./slack-scene.ts";

const log = pino({ level: "silent" });

test("a message has the address at which people find it", async () => {
  const { surface, thread, general, root } = await scene();
  expect(await surface.linkTo?.({ ...thread, message: root.ts })).toBe(
    `https://fake.slack.com/archives/${general.id}/p${root.ts.replace(".", "")}`,
  );
});

test("a channel has the name that people see, a direct conversation none of its own", async () => {
  const { slack, surface, ada, thread } = await scene();
  expect(await surface.channelName?.(thread)).toBe("general");
  expect(await surface.channelName?.({ ...thread, channel: slack.direct(ada).id })).toBe("direct messages");
});

describe("A private notice", () => {
  test("is seen by that person alone, in the thread", async () => {
    const { slack, surface, ada, thread, general, root, replies } = await scene();
    const reply = await ada.says(general, "and hurry", { thread: root.ts });
    await surface.tellPrivately?.(thread, ada.user.id, "You may not stop this.");
    expect(slack.workspace.ephemerals).toEqual([
      { user: ada.id, channel: general.id, threadTs: root.ts, text: "You may not stop this." },
    ]);
    expect(replies()).toEqual([reply]);
  });

  test("is seen in the channel where nobody has replied in the thread", async () => {
    const { surface, ada, thread } = await scene();
    await surface.tellPrivately?.(thread, ada.user.id, "You may not stop this.");
    expect(ada.ephemerals()).toEqual(["You may not stop this."]);
  });
});

describe("post", () => {
  test("writes Markdown with a footer into the thread, without previews of links", async () => {
    const { slack, surface, thread, general, replies } = await scene();
    const refs = await surface.post(
      thread,
      { kind: "answer", markdown: "**Done.**", footer: "3 steps & 2 < 3" },
      "k",
    );
    expect(slack.transcript(general)).toBe(
      ["ada: @heddle do it", "  heddle: **Done.**", "    (3 steps & 2 < 3)"].join("\n"),
    );
    const [message] = replies();
    expect(message).toMatchObject({ text: "Done.", unfurls: false });
    expect(refs).toEqual([
      { platform: "slack", workspace: slack.teamId, channel: general.id, message: message?.ts },
    ]);
  });

  test("shows a footer as it is, without marks of emphasis in names of files", async () => {
    const { surface, thread, replies } = await scene();
    const footer = "files changed: src/__init__.py, _a_/*.ts, *b*";
    await surface.post(thread, { kind: "answer", markdown: "Done.", footer }, "k");
    expect(replies()[0]?.blocks.at(-1)).toMatchObject({
      ...{ type: "context", elements: [{ type: "plain_text", text: footer }] },
    });
  });

  test("notifies nobody, whatever the model wrote", async () => {
    const { slack, surface, thread, replies, ada } = await scene();
    const plain = `<!channel> <!here|x> <!everyone> <!subteam^S1> <@${ada.id}> <#C1> \`<!HERE>\` @channel`;
    const markdown = `${plain} &lt;!channel&gt; &#60;!here> &#x3C;@${ada.id}> \n\`\`\`\n<!here>\n\`\`\``;
    const message: OutboundMessage = {
      ...{ kind: "answer", markdown, footer: markdown },
      calls: {
        ...{ above: markdown, below: markdown, title: "Steps" },
        items: [{ id: "1", name: "bash", about: markdown, state: "ok", result: markdown }],
      },
    };
    const [ref] = await surface.post(thread, message, "k");
    const [posted] = replies();
    expect(posted && notified(posted)).toEqual([]);
    expect(posted && visibleText(posted).replaceAll("\u200B", "")).toContain(markdown);
    for (const error of ["invalid_blocks", "invalid_blocks"])
      slack.fail("chat.update", { kind: "refuse", error });
    if (ref) await surface.edit(ref, { ...message, stoppable: true });
    expect(posted && [notified(posted), posted.blocks[0]?.type]).toEqual([[], "section"]);
    expect(slack.calls.at(-1)?.args).toMatchObject({ parse: "none" });
  });

  test("leaves code alone that only looks like a command of Slack", async () => {
    const { surface, thread, replies } = await scene();
    const markdown = "```html\n<!DOCTYPE html>\n<!-- here --> a < b && c > d\n```";
    await surface.post(thread, { kind: "answer", markdown }, "k");
    expect(replies().map(visibleText)).toEqual([markdown]);
  });

  test("splits what is too long, with the footer under the last part", async () => {
    const { surface, thread, replies } = await scene();
    const code = `\`\`\`ts\n${"const thread = 1;\n".repeat(1_500)}\`\`\``;
    const refs = await surface.post(thread, { kind: "answer", markdown: code, footer: "end" }, "k");
    expect(refs.map(({ message }) => message)).toEqual(replies().map(({ ts }) => ts));
    expect(replies()).toHaveLength(3);
    const texts = replies().map(visibleText);
    for (const text of texts) expect(text).toMatch(/^```ts\n(const thread = 1;\n)+```(\n\(end\))?$/);
    expect(texts.map((text) => text.endsWith("(end)"))).toEqual([false, false, true]);
  });

  test("puts a very long answer into a file, below its beginning", async () => {
    const { surface, thread, replies } = await scene();
    const markdown = "A line of the answer.\n".repeat(2_000);
    const refs = await surface.post(thread, { kind: "answer", markdown, footer: "end" }, "k");
    const [beginning, file, ...others] = replies();
    expect(others).toEqual([]);
    expect(refs.map(({ message }) => message)).toEqual([beginning?.ts]);
    expect(beginning && visibleText(beginning)).toMatch(/^A line[^]+answer\.\n\(end\)$/);
    expect(file).toMatchObject({ text: "The whole answer is in this file.", files: [{ name: "answer.md" }] });
    expect(file?.files[0]?.content?.toString()).toBe(markdown);
  });

  test("mentions whoever a finished turn calls, with nothing to decide", async () => {
    const { surface, thread, replies } = await scene();
    await surface.post(thread, { kind: "answer", markdown: "Done.", mentions: ["U0ADA"] }, "k");
    const shown = visibleText(replies().at(-1) ?? expect.fail("There is no answer."));
    expect(shown).toContain("<@U0ADA>");
    expect(shown).not.toContain("please decide");
  });

  test("calls those who decide alone, whatever the call, a name, a reason and a question hold", async () => {
    const { surface, thread, replies, ada } = await scene();
    const hostile = `<!channel> <@U0EVE> <!subteam^S1|x> @here </x> \`\`\` *b* &lt;!here&gt;`;
    const someone = { id: ada.user.id, name: hostile };
    const asked = { id: "q1", callId: "c1", tool: "bash", requester: someone, askedAt: 0, expiresAt: 60_000 };
    const place = { messageChars: 11_500, deciders: [ada.user.id], mask: (text: string) => text };
    const call = { id: "c1", name: "bash", input: { command: `echo ${hostile}`, [hostile]: hostile } };
    const questions: Question[] = [
      { ...asked, kind: "approval", why: "It leaves.", files: [{ path: hostile, sha256: "x" }] },
      { ...asked, kind: "choice", text: hostile, choices: [hostile, "b"] },
    ];
    const ends: Decision[] = [
      { kind: "denied", by: someone, reason: hostile, at: 1 },
      { kind: "answered", by: someone, text: hostile, at: 1 },
      { kind: "approved", by: someone, at: 1, rules: [{ id: "r", text: hostile }] },
    ];
    for (const question of questions) {
      const [ref] = await surface.post(thread, renderQuestion(question, call, place), question.kind);
      const posted = replies().at(-1) ?? expect.fail("It is not posted.");
      expect([...new Set(notified(posted))]).toEqual([`@${ada.user.id}`]);
      for (const end of ends) {
        if (ref) await surface.edit(ref, renderDecision(question, call, place, end));
        expect(notified(replies().at(-1) ?? posted)).toEqual([]);
      }
    }
  });

  test("puts the file of a question above its buttons, and says so where files are not allowed", async () => {
    const one = await scene();
    const question = {
      kind: "question",
      markdown: "May I?",
      mentions: ["U0ADA"],
      file: { name: "call.txt", text: "git push\nrm x" },
      actions: [{ id: "approve:1", label: "Approve", style: "primary" }],
    } as const;
    const asked: OutboundMessage = {
      ...question,
      mentions: [...question.mentions],
      actions: [...question.actions],
    };
    expect(await one.surface.post(one.thread, asked, "k")).toHaveLength(1);
    const [file, buttons, ...others] = one.replies();
    expect(others).toEqual([]);
    expect(file?.files[0]?.content?.toString()).toBe("git push\nrm x");
    expect(buttons && visibleText(buttons)).toContain("<@U0ADA>, please decide.");

    const two = await scene();
    two.slack.fail("files.getUploadURLExternal", { kind: "refuse", error: "missing_scope" });
    await two.surface.post(two.thread, asked, "k");
    expect(two.replies().map(visibleText)).toEqual([
      expect.stringContaining("call.txt could not be attached here; the console shows it"),
    ]);
  });

  test.each([
    ["limits the rate", { kind: "rate-limit", retryAfterSeconds: 1 }],
    ["fails", { kind: "http", status: 503 }],
  ] as const)("shares that file once, though Slack %s when the question is posted", async (_how, fault) => {
    const { slack, surface, thread, replies } = await scene();
    const message: OutboundMessage = {
      ...{ kind: "question", markdown: "May I?", file: { name: "call.txt", text: "git push" } },
      actions: [{ id: "approve:1", label: "Approve", style: "primary" }],
    };
    slack.fail("chat.postMessage", fault, 2);
    await failure(surface.post(thread, message, "question:1"));
    await failure(surface.post(thread, message, "question:1"));
    expect(await surface.post(thread, message, "question:1")).toHaveLength(1);
    expect(replies().map(({ files }) => files.length)).toEqual([1, 0]);
    await surface.post(thread, message, "question:2");
    expect(replies().map(({ files }) => files.length)).toEqual([1, 0, 1, 0]);
  });

  test("shares that file with the next message of its key where the question was refused for good", async () => {
    const { slack, surface, thread, replies } = await scene();
    const message: OutboundMessage = {
      ...{ kind: "question", markdown: "May I?", file: { name: "call.txt", text: "git push" } },
    };
    slack.fail("chat.postMessage", { kind: "refuse", error: "is_archived" });
    await failure(surface.post(thread, message, "question:1"));
    await surface.post(thread, message, "question:1");
    expect(replies().map(({ files }) => files.length)).toEqual([1, 1, 0]);
  });

  test("shares that file when the first attempt did not get so far, and posts all where files are not allowed", async () => {
    const one = await scene();
    const long = { kind: "answer", markdown: "A line of the answer.\n".repeat(2_000) } as const;
    one.slack.fail("files.completeUploadExternal", { kind: "rate-limit", retryAfterSeconds: 1 });
    const since = Date.now();
    expect(await failure(one.surface.post(one.thread, long, "k"))).toMatchObject({ partly: true });
    const posted = await one.surface.find?.(one.thread, "k", since);
    await one.surface.post(one.thread, long, "k", posted);
    expect(one.replies().map(({ files }) => files.length)).toEqual([0, 1]);

    const two = await scene({ withoutScopes: ["files:write"] });
    const refs = await two.surface.post(two.thread, long, "k");
    expect(refs.map(({ message }) => message)).toEqual(two.replies().map(({ ts }) => ts));
    expect(two.replies().length).toBeGreaterThan(3);
  });

  test("shows a Stop button as long as there is something to stop", async () => {
    const { slack, surface, thread, general } = await scene();
    const [ref] = await surface.post(thread, { kind: "progress", markdown: "Working", stoppable: true }, "k");
    expect(slack.transcript(general)).toContain("  heddle: Working\n    [Stop]");
    if (ref) await surface.edit(ref, { kind: "progress", markdown: "Worked" });
    await surface.post(thread, { kind: "answer", markdown: "Done" }, "k2");
    expect(slack.transcript(general)).toBe("ada: @heddle do it\n  heddle: Worked (edited)\n  heddle: Done");
  });

  test("posts plain text when Slack refuses the layout", async () => {
    const { slack, surface, thread, replies } = await scene();
    slack.fail("chat.postMessage", { kind: "refuse", error: "invalid_blocks" });
    await surface.post(thread, { kind: "answer", markdown: "a < b", footer: "end" }, "k");
    expect(replies().map(({ text, blocks }) => ({ text, blocks }))).toEqual([
      { text: "a &lt; b\nend", blocks: [] },
    ]);
  });

  test("keeps the buttons when Slack refuses the layout, in an edit too", async () => {
    const { slack, surface, thread, general } = await scene();
    const question = { kind: "notice", markdown: "| a |\n|---|", stoppable: true } as const;
    for (const method of ["chat.postMessage", "chat.update"])
      slack.fail(method, { kind: "refuse", error: "invalid_blocks" });
    const [ref] = await surface.post(thread, question, "k");
    expect(slack.transcript(general)).toContain("  heddle: | a |\n    |---|\n    [Stop]");
    if (ref) await surface.edit(ref, { kind: "notice", markdown: "Over." });
    expect(slack.transcript(general)).toBe("ada: @heddle do it\n  heddle: Over. (edited)");
  });

  test("an empty message is still one", async () => {
    const { surface, thread, replies } = await scene();
    await surface.post(thread, { kind: "answer", markdown: " " }, "k");
    expect(replies().map(visibleText)).toEqual(["…"]);
  });
});

describe("what fails", () => {
  test("a rate limit tells how long to wait, and the surface does not wait itself", async () => {
    const { slack, surface, thread, replies } = await scene();
    slack.fail("chat.postMessage", { kind: "rate-limit", retryAfterSeconds: 7 });
    const error = await failure(surface.post(thread, { kind: "answer", markdown: "hi" }, "k"));
    expect(error).toMatchObject({ kind: "rate-limited", retryAfterMs: 7_000 });
    expect(replies()).toHaveLength(0);
    await surface.post(thread, { kind: "answer", markdown: "hi" }, "k");
    expect(replies()).toHaveLength(1);
  });

  test("a rate limit that comes as an answer is one too", async () => {
    const { slack, surface, thread } = await scene();
    slack.fail("chat.postMessage", { kind: "refuse", error: "ratelimited" });
    const error = await failure(surface.post(thread, { kind: "answer", markdown: "hi" }, "k"));
    expect(error.kind).toBe("rate-limited");
    expect(error.retryAfterMs).toBeGreaterThan(0);
  });

  test("a post that failed after its first part goes on with the second", async () => {
    const { slack, surface, thread, replies } = await scene();
    const long = { kind: "answer", markdown: "word ".repeat(3_000) } as const;
    slack.fail("chat.postMessage", { kind: "pass" });
    slack.fail("chat.postMessage", { kind: "rate-limit", retryAfterSeconds: 1 });
    const since = Date.now();
    expect(await failure(surface.post(thread, long, "k"))).toMatchObject({
      kind: "rate-limited",
      partly: true,
    });
    expect(replies()).toHaveLength(1);
    const posted = await surface.find?.(thread, "k", since);
    expect(posted).toHaveLength(1);
    const refs = await surface.post(thread, long, "k", posted);
    expect(refs.map(({ message }) => message)).toEqual(replies().map(({ ts }) => ts));
    expect(replies()).toHaveLength(2);
  });

  test("a post whose answer is lost is found in the thread", async () => {
    const { slack, surface, thread, replies } = await scene();
    slack.fail("chat.postMessage", { kind: "lost-response" });
    const since = Date.now();
    const hi = { kind: "answer", markdown: "hi" } as const;
    expect((await failure(surface.post(thread, hi, "k"))).kind).toBe("uncertain");
    const found = await surface.find?.(thread, "k", since);
    expect(found).toMatchObject([{ message: replies()[0]?.ts }]);
    expect(await surface.post(thread, hi, "k", found)).toEqual(found);
    expect(replies()).toHaveLength(1);
    expect(await surface.find?.(thread, "another", since)).toEqual([]);
  });

  test("what another app has marked with the same key is not taken for it", async () => {
    const { slack, surface, thread, general, root, replies } = await scene();
    const since = Date.now();
    await surface.post(thread, { kind: "answer", markdown: "hi" }, "k");
    const [own] = replies();
    const forged = await slack.user("spy", { bot: true }).says(general, "hi", { thread: root.ts });
    if (own) forged.metadata = own.metadata;
    expect(await surface.find?.(thread, "k", since)).toMatchObject([{ message: own?.ts }]);
    delete own?.metadata;
    expect(await surface.find?.(thread, "k", since)).toEqual([]);
  });

  test("a message is not posted in other layouts, nor as a file, where a page comes in place of Slack's answer", async () => {
    const { slack, surface, thread, replies } = await scene();
    slack.fail("chat.postMessage", { kind: "page" }, 5);
    const error = await failure(
      surface.post(thread, { kind: "answer", markdown: "| a |\n|---|\n| b |" }, "k"),
    );
    expect(error).toMatchObject({
      kind: "uncertain",
      message: "Slack did not confirm chat.postMessage; look into the thread before repeating it.",
    });
    expect(replies()).toHaveLength(1);
  });

  test.each([
    ["the connection breaks", { kind: "lost-request" }],
    ["Slack fails with 503", { kind: "http", status: 503 }],
    ["Slack answers fatal_error", { kind: "refuse", error: "fatal_error" }],
  ] as const)("a post is uncertain when %s and it is not in the thread", async (_what, fault) => {
    const { slack, surface, thread, replies } = await scene();
    slack.fail("chat.postMessage", fault);
    expect((await failure(surface.post(thread, { kind: "answer", markdown: "hi" }, "k"))).kind).toBe(
      "uncertain",
    );
    expect(replies()).toHaveLength(0);
  });

  test("a post that nobody received can be tried again later", async () => {
    const { slack, surface, thread } = await scene();
    await slack.close();
    const error = await failure(surface.post(thread, { kind: "answer", markdown: "hi" }, "k"));
    expect(error).toMatchObject({
      kind: "rate-limited",
      message: expect.stringContaining("cannot be reached"),
    });
  });

  test("a channel or message that is no more is gone", async () => {
    const { slack, surface, thread, general, rootRef } = await scene();
    const hi = { kind: "answer", markdown: "hi" } as const;
    expect((await failure(surface.post({ ...thread, channel: "C404" }, hi, "1"))).kind).toBe("gone");
    expect((await failure(surface.edit({ ...rootRef, message: "1.000000" }, hi))).kind).toBe("gone");
    slack.archive(general);
    expect((await failure(surface.post(thread, hi, "2"))).kind).toBe("gone");
  });

  test("a channel without the bot and a missing scope are forbidden, and it is said which", async () => {
    const { slack, surface, thread } = await scene({ withoutScopes: ["files:write"] });
    const elsewhere = slack.channel("elsewhere", { withoutBot: true });
    const posted = surface.post(
      { ...thread, channel: elsewhere.id },
      { kind: "answer", markdown: "hi" },
      "k",
    );
    expect(await failure(posted)).toMatchObject({
      kind: "forbidden",
      message: expect.stringContaining("invite"),
    });
    const uploaded = surface.upload(thread, { name: "a.txt", data: Buffer.from("a") }, "k");
    expect(await failure(uploaded)).toMatchObject({
      kind: "forbidden",
      message: expect.stringContaining("files:write"),
    });
  });

  test("somebody else's message cannot be edited, and the reason is passed on", async () => {
    const { surface, rootRef } = await scene();
    const error = await failure(surface.edit(rootRef, { kind: "answer", markdown: "hi" }));
    expect(error).toMatchObject({
      kind: "rejected",
      message: expect.stringContaining("cant_update_message"),
    });
  });
});

describe("edit and remove", () => {
  test("an edit cuts what is too long", async () => {
    const { surface, thread, replies } = await scene();
    const [ref] = await surface.post(thread, { kind: "progress", markdown: "Working" }, "k");
    if (ref) await surface.edit(ref, { kind: "progress", markdown: "line\n".repeat(5_000), footer: "end" });
    expect(replies()).toHaveLength(1);
    expect(replies().map(visibleText).join()).toMatch(/line\n…\n\(end\)$/);
  });

  test("removing twice is fine", async () => {
    const { surface, thread, replies } = await scene();
    const [ref] = await surface.post(thread, { kind: "progress", markdown: "Working" }, "k");
    if (ref) await surface.remove(ref);
    expect(replies()).toHaveLength(0);
    if (ref) await surface.remove(ref);
  });
});

describe("marks", () => {
  test("a mark takes the place of the earlier one", async () => {
    const { slack, surface, rootRef, general } = await scene();
    await surface.mark(rootRef, "waiting", { place: 2, isFirst: true });
    expect(slack.transcript(general)).toBe("ada: @heddle do it  :hourglass:  :two:");
    await surface.mark(rootRef, "taken");
    expect(slack.transcript(general)).toBe("ada: @heddle do it  :eyes:");
    await surface.mark(rootRef, "taken", { paused: true });
    expect(slack.transcript(general)).toBe("ada: @heddle do it  :double_vertical_bar:");
    await surface.mark(rootRef, "taken");
    await surface.mark(rootRef, "answered");
    expect(slack.transcript(general)).toBe("ada: @heddle do it  :white_check_mark:");
  });

  test("marks are those of the configuration, and none where it says so", async () => {
    const { slack, rootRef, general } = await scene();
    const marks = { taken: "robot_face", waiting: "" };
    const access = { botToken: slack.botToken, apiUrl: slack.url, log: pino({ level: "silent" }) };
    const surface = createSlackSurface({ ...access, marks });
    await surface.mark(rootRef, "waiting");
    expect(slack.transcript(general)).toBe("ada: @heddle do it");
    await surface.mark(rootRef, "taken");
    expect(slack.transcript(general)).toBe("ada: @heddle do it  :robot_face:");
    await surface.mark(rootRef, "answered");
    expect(slack.transcript(general)).toBe("ada: @heddle do it  :white_check_mark:");
  });

  test("marks that are set at the same time end with the last one", async () => {
    const { slack, surface, rootRef, general } = await scene();
    await Promise.all([
      surface.mark(rootRef, "taken"),
      surface.mark(rootRef, "stopped"),
      surface.mark(rootRef, "failed"),
    ]);
    expect(slack.transcript(general)).toBe("ada: @heddle do it  :warning:");
  });

  test("people's own reactions stay", async () => {
    const { surface, ada, root, rootRef } = await scene();
    await ada.reacts("eyes", root);
    await surface.mark(rootRef, "taken");
    await surface.mark(rootRef, "answered");
    expect([...(root.reactions.get("eyes") ?? [])]).toEqual([ada.id]);
    expect(root.reactions.has("white_check_mark")).toBe(true);
  });

  test("the mark before goes also where the bot may not read reactions", async () => {
    const { slack, surface, rootRef, general } = await scene();
    await surface.mark(rootRef, "taken");
    slack.fail("reactions.get", { kind: "refuse", error: "missing_scope" });
    await surface.mark(rootRef, "answered");
    expect(slack.transcript(general)).toBe("ada: @heddle do it  :white_check_mark:");
  });

  test("a mark that failed does not hold up the next one", async () => {
    const { slack, surface, rootRef, general } = await scene();
    slack.fail("reactions.add", { kind: "rate-limit", retryAfterSeconds: 1 });
    const first = failure(surface.mark(rootRef, "taken"));
    await surface.mark(rootRef, "answered");
    expect((await first).kind).toBe("rate-limited");
    expect(slack.transcript(general)).toBe("ada: @heddle do it  :white_check_mark:");
  });
});

test("a person is whoever the workspace says by now, and it is asked again when it does not answer", async () => {
  const { slack, surface, thread, ada } = await scene();
  const gus = slack.user("gus", { guest: true });
  expect(await surface.person?.(thread, ada.id)).toMatchObject({ name: "ada", standing: "member" });
  expect(await surface.person?.(thread, gus.id)).toMatchObject({ standing: "guest" });
  expect(await surface.person?.(thread, "U404")).toMatchObject({ standing: "external" });
  slack.fail("users.info", { kind: "rate-limit", retryAfterSeconds: 1 }, 2);
  const eve = slack.user("eve");
  expect((await failure(surface.person?.(thread, eve.id) ?? Promise.resolve())).kind).toBe("rate-limited");
});

describe("task cards", () => {
  const progress: OutboundMessage = {
    kind: "progress",
    markdown: "Working\n\n✓ ls\n▸ make",
    stoppable: true,
    calls: {
      ...{ above: "Working", below: "I am building it.", title: "Steps" },
      items: [
        { id: "1", name: "bash", about: "ls", state: "ok", result: "\u001b[34ma.txt\u001b[0m" },
        { id: "2", name: "bash", about: "make", state: "running" },
        { id: "3", name: "todo", about: "", state: "error" },
        { id: "4", name: "bash", about: "rm", state: "pending" },
      ],
    },
  };

  test("stand in the place of the list, each with its result behind it", async () => {
    const { surface, thread, replies } = await scene();
    const [ref] = await surface.post(thread, progress, "k");
    const shown = [
      ...["Working", "Steps", "- ✓ bash ls: a.txt", "- ▸ bash make"],
      ...["- ✗ todo", "- ○ bash rm", "I am building it.", "[Stop]"],
    ].join("\n");
    expect(replies().map(visibleText)).toEqual([shown]);
    if (ref) await surface.edit(ref, progress);
    expect(replies().map(visibleText)).toEqual([shown]);
  });

  test("are no cards while there is nothing but a plan", async () => {
    const { surface, thread, replies } = await scene();
    const calls = { title: "Working", above: "**Plan** · 0 of 1 done", below: "", items: [] };
    await surface.post(thread, { ...progress, markdown: calls.above, calls }, "k");
    expect(replies()[0]?.blocks.map(({ type }) => type)).toEqual(["markdown", "actions"]);
  });

  test("fit into a message, however much there is to show", async () => {
    const { surface, thread, replies } = await scene();
    const much = "much ".repeat(3_000);
    const item = { name: "bash", about: much, state: "ok" as const, result: much };
    const items = Array.from({ length: 12 }, (_, index) => ({ id: String(index), ...item }));
    const calls = { title: "Steps", above: much, below: much, items };
    await surface.post(thread, { ...progress, markdown: much, calls }, "k");
    expect(replies()[0]?.blocks.map(({ type }) => type)).toEqual(["markdown", "plan", "markdown", "actions"]);
  });

  test("give way to the list where Slack has none, and are not tried again", async () => {
    const { slack, surface, thread, replies } = await scene();
    slack.fail("chat.postMessage", { kind: "refuse", error: "invalid_blocks" });
    const [ref] = await surface.post(thread, progress, "k");
    if (ref) await surface.edit(ref, progress);
    expect(replies().map(visibleText)).toEqual(["Working\n\n✓ ls\n▸ make\n[Stop]"]);
    expect(slack.calls.filter(({ method }) => method === "chat.update")).toHaveLength(1);
  });
});

describe("status", () => {
  test("stands under the thread with Slack's own Stop, until it is taken away", async () => {
    const { slack, surface, thread, general, root } = await scene();
    await surface.status?.(thread, "is thinking…");
    expect(slack.status(general, root.ts)).toBe("is thinking…");
    expect(slack.session(general, root.ts)).toBe("processing");
    await surface.status?.(thread, undefined);
    expect(slack.session(general, root.ts)).toBe("active");
  });

  test("leaves the session suspended while people are to decide", async () => {
    const { slack, surface, thread, general, root } = await scene();
    await surface.status?.(thread, "is thinking…");
    await surface.status?.(thread, undefined, true);
    expect(slack.session(general, root.ts)).toBe("suspended");
    await surface.status?.(thread, "is thinking…");
    expect(slack.session(general, root.ts)).toBe("processing");
  });

  test("asks for the session once, however often the line changes", async () => {
    const { slack, surface, thread } = await scene();
    for (const text of ["one", "two", "three"]) await surface.status?.(thread, text);
    expect(slack.calls.filter(({ method }) => method === "agents.sessions.setStatus")).toHaveLength(1);
  });

  test("gives the session its title, and is shown where Slack takes none", async () => {
    const { slack, surface, thread, general, root } = await scene();
    await surface.status?.(thread, "is thinking…", false, "Look at the build");
    expect([...slack.workspace.titles.values()]).toEqual(["Look at the build"]);

    slack.refuse("agents.sessions.setStatus", () => "unknown_method");
    const [, other] = [slack.user("ada"), { ...thread, thread: root.ts }];
    await surface.status?.(other, "is reading…", false, "Look at the build");
    expect(slack.status(general, root.ts)).toBe("is reading…");
  });

  test("comes so soon that it stands for the progress of a short turn, and goes with a message by itself", async () => {
    const { surface } = await scene();
    const { status, progressMs: [firstProgressMs] = [0] } = surface.limits;
    expect(status).toMatchObject({ endsWithPosts: true });
    expect(status?.firstMs).toBeLessThanOrEqual(200);
    expect(firstProgressMs).toBeGreaterThanOrEqual(1_000);
  });

  test("goes with the next message, and a line that was under way by then is taken away", async () => {
    const { slack, surface, thread, general, root } = await scene();
    await surface.status?.(thread, "is thinking…");
    await surface.post(thread, { kind: "answer", markdown: "Done." }, "1");
    expect(slack.status(general, root.ts)).toBeUndefined();
    const lines = () => slack.calls.filter(({ method }) => method === "assistant.threads.setStatus").length;
    expect(lines()).toBe(1);

    const [late] = await Promise.all([
      surface.status?.(thread, "is late…"),
      surface.post(thread, { kind: "answer", markdown: "Done again." }, "2"),
    ]);
    // Which of the two Slack takes first is open.
    await slack.until(() => lines() >= 2 && slack.status(general, root.ts) === undefined);
    expect(late).toBeUndefined();
  });

  test("is quiet where it is not granted or does not work, and not asked for again where it never will", async () => {
    const { slack, surface, thread } = await scene({ withoutScopes: ["assistant:write"] });
    slack.fail("assistant.threads.setStatus", { kind: "rate-limit", retryAfterSeconds: 1 });
    slack.fail("assistant.threads.setStatus", { kind: "refuse", error: "unknown_method" });
    for (const text of ["one", "two", "three"]) await surface.status?.(thread, text);
    const asked = (name: string) => slack.calls.filter(({ method }) => method === name).length;
    expect(asked("agents.sessions.setStatus")).toBe(1);
    expect(asked("assistant.threads.setStatus")).toBe(2);
  });

  test("is asked for again some hours later: the app may have been given its scope meanwhile", async () => {
    const { slack, thread, general, root } = await scene();
    const client = createWebClient(
      { botToken: slack.botToken, apiUrl: slack.url, log },
      { timeoutMs: 5_000 },
    );
    let now = Date.now();
    const status = createThreadStatus(
      client,
      createFeatures(log, () => now),
      log,
    );
    slack.fail("assistant.threads.setStatus", { kind: "refuse", error: "missing_scope" });
    for (const text of ["one", "two"]) await status.setLine(thread, text);
    expect(slack.status(general, root.ts)).toBeUndefined();
    now += 7 * 3_600_000;
    await status.setLine(thread, "is thinking…");
    expect(slack.status(general, root.ts)).toBe("is thinking…");
  });
});

describe("upload", () => {
  test("brings the bytes into the thread", async () => {
    const { surface, thread, replies } = await scene();
    const data = Buffer.from([0, 255, 1, 254]);
    await surface.upload(thread, { name: "plot.png", data }, "k");
    expect(replies().flatMap(({ files }) => files)).toMatchObject([{ name: "plot.png", content: data }]);
  });

  test.each([
    ["upload", { kind: "rejected", message: "plot.png was not sent." }],
    [
      "files.completeUploadExternal",
      { kind: "uncertain", message: expect.stringContaining("may have been") },
    ],
  ])("ends at once when it is aborted in %s, and says whether it may have arrived", async (step, error) => {
    const { slack, surface, thread, replies } = await scene();
    slack.fail(step, { kind: "stall" });
    const stop = new AbortController();
    const file = { name: "plot.png", data: Buffer.from("1") };
    const uploading = failure(surface.upload(thread, file, "k", stop.signal));
    await slack.until(() => slack.calls.some(({ method }) => method === step));
    stop.abort();
    expect(await uploading).toMatchObject(error);
    expect(replies()).toEqual([]);
  });

  test("never reads a file of this machine", async () => {
    const { surface, thread, replies } = await scene();
    await surface.upload(thread, { name: "/etc/passwd", data: Buffer.from("/etc/passwd") }, "k");
    expect(replies()[0]?.files[0]?.content?.toString()).toBe("/etc/passwd");
  });
});
