import { describe, expect, test } from "vitest";
import type { OutboundMessage } from "../../../src/chat/outbound.ts";
import { notified, visibleText } from "../../fakes/slack/blocks.ts";
import { failure, scene } from "./slack-scene.ts";

describe("A message", () => {
  test.each([
    ["after Slack has shared it", "lost-response", 1],
    ["before Slack has read it", "lost-request", 0],
  ] as const)("tells whether a file is there when the connection breaks %s", async (_when, kind, shared) => {
    const { slack, surface, thread, replies } = await scene();
    slack.fail("files.completeUploadExternal", { kind });
    const upload = surface.upload(thread, { name: "plot.png", data: Buffer.from("png") }, "k");
    if (shared === 1) expect(await upload).toEqual([]);
    else expect((await failure(upload)).message).toContain("is not in the thread and can be shared again");
    expect(replies()).toHaveLength(shared);
  });

  test("a file of which Slack does not even tell whether it is there is called not known", async () => {
    const { slack, surface, thread } = await scene({ withoutScopes: ["files:read"] });
    slack.fail("files.completeUploadExternal", { kind: "lost-response" });
    const upload = surface.upload(thread, { name: "plot.png", data: Buffer.from("png") }, "k");
    expect(await failure(upload)).toMatchObject({
      kind: "uncertain",
      message: expect.stringContaining("ask the people there"),
    });
  });

  describe("that Slack refuses", () => {
    const long = `${"# Heading\n\nSome words & more <words>.\n\n".repeat(250)}The end.`;
    const words = (texts: readonly string[]) =>
      texts.join("\n").replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&").split(/\s+/);

    const answer = { kind: "answer", markdown: long, footer: "end" } as const;
    const sizeOf = (args: Record<string, unknown>) =>
      Math.max(...Object.values(args).map((v) => String(v).length));

    test("comes in its plainest layout when Slack finds it too long or gives a code that nobody knows", async () => {
      const once = await scene();
      once.slack.fail("chat.postMessage", { kind: "refuse", error: "msg_too_long" });
      await once.surface.post(once.thread, answer, "k");
      expect(words(once.replies().map(visibleText))).toEqual(words([long, "end"]));

      const always = await scene();
      always.slack.refuse("chat.postMessage", ({ blocks }) => (blocks === "[]" ? undefined : "no_such_code"));
      await always.surface.post(always.thread, answer, "k");
      expect(always.replies()).toHaveLength(1);
      expect(words(always.replies().map(visibleText))).toEqual(words([long, "end"]));
    });

    test("comes in halves, in order, and goes on where a lost answer left it", async () => {
      const { slack, surface, thread, replies } = await scene();
      const since = Date.now();
      slack.refuse("chat.postMessage", (args) => (sizeOf(args) > 4_000 ? "msg_too_long" : undefined));
      // Two layouts of the whole and two of a half are refused, a quarter is posted, and the answer to the next is lost.
      slack.fail("chat.postMessage", { kind: "pass" }, 5);
      slack.fail("chat.postMessage", { kind: "lost-response" });
      const error = await failure(surface.post(thread, answer, "k"));
      expect(error.kind).toBe("uncertain");
      const found = (await surface.find?.(thread, "k", since)) ?? [];
      expect(found).toHaveLength(2);
      const refs = await surface.post(thread, answer, "k", found);
      expect(refs.map(({ message }) => message)).toEqual(replies().map(({ ts }) => ts));
      expect(words(replies().map(visibleText))).toEqual(words([long, "(end)"]));
    });

    test("comes as a file where Slack takes no message of it, and fails where it takes no file either", async () => {
      const { slack, surface, thread, replies } = await scene();
      slack.refuse("chat.postMessage", (args) => (sizeOf(args) > 300 ? "no_such_code" : undefined));
      expect(await surface.post(thread, answer, "k")).toEqual([]);
      expect(replies().map(({ files }) => files.map((file) => file.content?.toString()))).toEqual([[long]]);
      slack.refuse("files.getUploadURLExternal", () => "file_uploads_disabled");
      expect(await failure(surface.post(thread, answer, "k2"))).toMatchObject({ kind: "rejected" });
    });
  });

  test("shows words without marks in notifications, and cannot be made to call anybody by them", async () => {
    const { surface, thread, replies } = await scene();
    const markdown = "## Result\n\nThe **build** of <`@U0ADA`> and <`!channel`> `fails`.";
    await surface.post(thread, { kind: "answer", markdown }, "k");
    const [posted] = replies();
    expect(posted?.text.replaceAll("\u200B", "")).toBe(
      "Result\n\nThe build of &lt;@U0ADA&gt; and &lt;!channel&gt; fails.",
    );
    expect(posted && notified(posted)).toEqual([]);
  });

  test("asks for a rating in Slack's own way, and with plain buttons where Slack does not take that", async () => {
    const { slack, surface, thread, replies } = await scene();
    const actions: OutboundMessage["actions"] = [
      { id: "rate:t:liked", label: "👍", style: "plain", rates: "good" },
      { id: "rate:t:disliked", label: "👎", style: "plain", rates: "bad" },
    ];
    const kinds = () =>
      replies()
        .at(-1)
        ?.blocks.map(({ type }) => type);
    await surface.post(thread, { kind: "answer", markdown: "Done", actions }, "1");
    expect(kinds()).toEqual(["markdown", "context_actions"]);
    slack.refuse("chat.postMessage", ({ blocks }) =>
      String(blocks).includes("context_actions") ? "invalid_blocks" : undefined,
    );
    await surface.post(thread, { kind: "answer", markdown: "Done", actions }, "2");
    expect(kinds()).toEqual(["markdown", "actions"]);
    const before = slack.calls.length;
    await surface.post(thread, { kind: "answer", markdown: "Done", actions }, "3");
    expect(slack.calls.length - before).toBe(1);
    expect(kinds()).toEqual(["markdown", "actions"]);
  });

  test("shows on a card what a call is for, and the call behind it", async () => {
    const { surface, thread, replies } = await scene();
    const call = { name: "bash", about: "npm test", state: "ok" } as const;
    const items = [
      { ...call, id: "0", title: `Run <!channel> tests ${"x".repeat(200)}`, result: "exit code 0" },
      { ...call, id: "1" },
    ];
    const calls = { title: "Working", above: "", below: "", items };
    await surface.post(thread, { kind: "progress", markdown: "", calls }, "k");
    const [posted] = replies();
    const shown = posted ? visibleText(posted) : "";
    expect(shown).toMatch(/- ✓ Run <\u200B!channel> tests x{100,140}: bash npm test\nexit code 0\n/);
    expect(shown).toContain("- ✓ bash npm test");
    expect(posted && notified(posted)).toEqual([]);
  });
});
