import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Author } from "../../src/chat/inbound.ts";
import type { OutboundMessage } from "../../src/chat/outbound.ts";
import { isContinueCommand } from "../../src/intake/continue-paused.ts";
import type { BudgetSettings } from "../../src/queue/budgets/budgets.ts";
import { memoryChat } from "../fakes/memory-chat.ts";
import { startRedis, type TestRedis } from "../fakes/redis.ts";
import type { Reply } from "../fakes/scripted-model.ts";
import { openHeddle } from "./heddle.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
  // What was left to do there is not for the next one.
  await server.client().flushall();
});

const person = (name: string): Author => ({ id: `U${name}`, name, standing: "member", roles: [] });
const ada = person("Ada");
const bob = person("Bob");
/** The administrator. */
const root = person("Root");

let clock = Date.UTC(2026, 5, 1, 12);

/** A thread with a Heddle in it. */
async function heddle(budgets: Partial<BudgetSettings>, replies: Reply[], steps = 10, rules = {}) {
  const chat = memoryChat();
  // Each test on a day of its own.
  let now = (clock += 40 * 86_400_000);
  const { intake, requests, close } = await openHeddle(server, {
    ...{ surface: chat.surface, replies, budgets, steps, now: () => now },
    access: { administrators: [root.id], ...rules },
  });
  closers.push(close);

  const thread = { platform: "memory", workspace: "w", channel: "c", thread: randomUUID().slice(0, 8) };
  let sent = 0;
  const place = { platform: "memory", workspace: "w", channel: "c" };
  return {
    chat,
    requests,
    /** The id of the message that was sent last. */
    sent: () => `${thread.thread}-${sent}`,
    lastMark: (message: string) => chat.marks.get(message)?.at(-1),
    passes: (ms: number) => (now += ms),
    says: (author: Author, text: string) => {
      const ref = { ...place, message: `${thread.thread}-${++sent}` };
      const message = { thread, ref, author, text, attachments: [], at: Date.now() };
      return intake.receive({ kind: "message", addressed: "mention", ...message });
    },
    presses: (
      author: Author,
      shown: { message: OutboundMessage; ref: { message: string } },
      how: { tellsRefusal?: true } = {},
    ) => {
      const action = shown.message.actions?.[0]?.id ?? "";
      const ref = { ...place, message: shown.ref.message };
      return intake.receive({ kind: "action", thread, ref, author, action, ...how, at: Date.now() });
    },
    /** How many messages with that text there are. */
    count: (text: string) => chat.shown.filter(({ message }) => message.markdown.includes(text)).length,
    /** The n-th message with that text, once it is there. */
    shows: (text: string, nth = 1) =>
      chat.until(() => chat.shown.filter(({ message }) => message.markdown.includes(text))[nth - 1]),
  };
}

const look: Reply = { text: "Looking.", calls: [{ name: "recall_notes" }] };
const hourMs = 3_600_000;

describe("A budget that is used up", () => {
  test("pauses the turn with a clear message, and goes on when an administrator presses Continue", async () => {
    const { says, presses, shows, count, requests } = await heddle({ user: { cost: 0.02 } }, [
      ...[look, look],
      { text: "All done." },
    ]);
    await says(ada, "look twice");
    await shows("Looking.");
    const paused = { ...(await shows("Paused")) };
    expect(paused.message).toMatchObject({
      markdown:
        "**Paused: the budget of $0.02 a day for one person does not cover the next step.** " +
        "It resets at midnight (UTC): write “continue” then. " +
        "An administrator can press Continue now, which adds $0.01 for today.",
      actions: [{ label: "Continue", style: "primary" }],
    });
    expect(requests).toHaveLength(2);

    // Where the platform can tell the person alone, nothing is posted in the thread.
    expect(await presses(ada, paused, { tellsRefusal: true })).toMatchObject({ kind: "refused" });
    expect(await presses(bob, paused)).toMatchObject({ kind: "refused" });
    await shows("only an administrator can extend it");
    expect(await presses(root, paused)).toMatchObject({ kind: "acted" });
    await shows("All done.");
    expect(count("only an administrator can extend it")).toBe(1);
    expect(requests[2]?.messages.at(-1)).toMatchObject({ author: { name: "Root" }, text: "continue" });
    expect(await presses(root, paused)).toMatchObject({ kind: "ignored" });
    // Nothing is left there to be pressed.
    const { message } = await shows("▶️ Continued by Root.");
    expect(message).toMatchObject({ markdown: expect.stringMatching(/^\*\*Paused: the budget of \$0.02/) });
    expect(message).not.toHaveProperty("actions");

    // The extension was for the one who had asked, and is used up as well now.
    await says(ada, "and more");
    await shows("$0.03 a day for one person");
  });

  test("that all workspaces share is not for the administrator of one of them", async () => {
    const administrators = [`w:${bob.id}`, root.id];
    const rules = { administrators };
    const { says, presses, shows } = await heddle(
      { day: { cost: 0.01 } },
      [look, { text: "Done." }],
      10,
      rules,
    );
    await says(ada, "look");
    const paused = { ...(await shows("Paused")) };
    expect(await presses(bob, paused, { tellsRefusal: true })).toMatchObject({
      kind: "refused",
      reply: expect.stringContaining("only an administrator of the whole installation can extend it"),
    });
    expect(await presses(root, paused)).toMatchObject({ kind: "acted" });
    await shows("Done.");
  });

  test("in one workspace is for its administrator", async () => {
    const rules = { administrators: [`w:${bob.id}`, `v:${ada.id}`] };
    const { says, presses, shows } = await heddle(
      { user: { cost: 0.01 } },
      [look, { text: "Done." }],
      10,
      rules,
    );
    await says(ada, "look");
    const paused = { ...(await shows("Paused")) };
    expect(await presses(ada, paused, { tellsRefusal: true })).toMatchObject({ kind: "refused" });
    expect(await presses(bob, paused)).toMatchObject({ kind: "acted" });
    await shows("Done.");
  });

  test("is warned of before, in the thread", async () => {
    const { says, shows } = await heddle({ channel: { cost: 0.0125 } }, [look, { text: "Done." }]);
    await says(ada, "look");
    const { message } = await shows("80 % of the budget of $0.01 a day for this channel is used");
    expect(message.kind).toBe("notice");
    await shows("Done.");
  });

  test("is extended by an administrator's word, and not by another's", async () => {
    const { says, shows, requests } = await heddle({ channel: { tokens: 400 } }, [
      look,
      look,
      { text: "Done." },
    ]);
    await says(ada, "look");
    await shows("Paused");
    const made = requests.length;
    expect(await says(bob, "continue")).toMatchObject({
      kind: "refused",
      reply: expect.stringMatching(
        /^The budget of 400 tokens a day for this channel is used up until midnight/,
      ),
    });
    expect(requests).toHaveLength(made);
    expect(await says(root, "Continue!")).toMatchObject({ kind: "accepted" });
    await shows("600 tokens a day for this channel");
  });

  test("is whole again on the next day, and anybody may go on", async () => {
    const { says, presses, shows, passes } = await heddle({ day: { cost: 0.01 } }, [look, { text: "Done." }]);
    await says(ada, "look");
    const paused = await shows("Paused: the budget of $0.01 a day for everybody together");
    expect(await presses(ada, paused)).toMatchObject({ kind: "refused" });
    passes(12 * hourMs);
    expect(await presses(bob, paused)).toMatchObject({ kind: "acted" });
    await shows("Done.");
  });

  test("costs nothing and says so at once, before the first step", async () => {
    const { says, shows, requests } = await heddle({ user: { cost: 0.01 } }, [{ text: "One." }]);
    await says(ada, "one");
    await shows("One.");
    await says(ada, "two");
    const { message } = await shows("Paused");
    expect(message.markdown).toMatch(/^\*\*Paused: the budget of \$0\.01 a day for one person/);
    expect(message.footer ?? "").not.toContain("step");
    expect(requests).toHaveLength(1);
  });
});

test("A turn that ended at its step limit is shown as paused, and goes on when anybody presses Continue", async () => {
  const { chat, says, presses, shows, sent, lastMark } = await heddle(
    {},
    [look, { text: "Half of it." }, { text: "The rest." }],
    1,
  );
  await says(ada, "look");
  const request = sent();
  const paused = await shows("Paused at the limit of 1 step for one turn");
  await chat.until(() => lastMark(request) === "paused");
  expect(await presses(bob, paused)).toMatchObject({ kind: "acted" });
  await shows("The rest.");
  await chat.until(() => lastMark(request) === "answered");
});

test("A turn that ended at its step limit goes on for the requester alone, where access says so", async () => {
  const replies = [look, { text: "Half of it." }, { text: "The rest." }];
  const { says, presses, shows } = await heddle({}, replies, 1, { continue: "requester" });
  await says(ada, "look");
  const paused = await shows("Paused at the limit of 1 step for one turn");
  expect(await presses(bob, paused)).toMatchObject({ kind: "refused" });
  expect(await says(bob, "continue")).toMatchObject({ kind: "refused" });
  expect(await presses(ada, paused)).toMatchObject({ kind: "acted" });
  await shows("The rest.");
});

test("A button of nobody's is ignored", async () => {
  const { presses } = await heddle({}, []);
  const message: OutboundMessage = { kind: "notice", markdown: "" };
  expect(await presses(ada, { message, ref: { message: "m" } })).toMatchObject({ kind: "ignored" });
});

test.each([
  ["continue", true],
  ["Continue!", true],
  ["/continue", true],
  ["please continue with the tests", false],
])("%j asks to go on: %s", (text, expected) => {
  expect(isContinueCommand(text)).toBe(expected);
});
