import { describe, expect, test } from "vitest";
import { replay } from "../../../../src/agent/journal/replay.ts";
import type { JournalRecord } from "../../../../src/agent/journal/journal.ts";
import { createDemoModel } from "../../../../src/agent/llm/demo/demo.ts";
import type { Message } from "../../../../src/agent/messages.ts";
import { asking, run, type RunOptions, say, tool } from "../../turn.ts";

const berlin = { timeZone: "Europe/Berlin", place: "the channel #deploys on Slack" };
const evening = Date.parse("2026-11-22T22:40:00Z");
const minute = 60_000;

/** Turns of one session, each at its own time. */
function session(situation = berlin) {
  const journal: JournalRecord[] = [];
  return {
    journal,
    async next(text: string, at: number, options: Partial<RunOptions> = {}) {
      journal.push(...asking(text, at));
      const replies = [{ text: "Hi." }];
      const ran = await run({ journal, situation, now: () => at, replies, ...options });
      journal.push({ type: "turn-end", turn: "t1", outcome: ran.outcome, at });
      return ran.requests.map(({ messages }) => messages);
    },
  };
}

const textsOf = (messages: readonly Message[] = []) =>
  messages.flatMap((message) => (message.role === "user" ? [message.text] : []));

describe("The first request of a turn", () => {
  test("holds date, weekday, time, zone and place behind what the person said", async () => {
    const [messages] = await session().next("remind me tomorrow at nine", evening);
    expect(textsOf(messages)).toEqual([
      "remind me tomorrow at nine",
      "(It is Sunday, 2026-11-22 23:40 (UTC+01:00, Europe/Berlin). This conversation is in the channel #deploys on Slack.)",
    ]);
  });

  test("names a zone that is UTC once", async () => {
    const [messages] = await session({ ...berlin, timeZone: "UTC" }).next("hello", evening);
    expect(textsOf(messages).at(-1)).toContain("22:40 (UTC).");
  });

  test("continues the request before it, across midnight too, and so does what is replayed", async () => {
    const talk = session();
    const [first] = await talk.next("one", evening);
    const [second] = await talk.next("two", evening + 40 * minute);
    expect(textsOf(second)).toEqual([
      ...textsOf(first),
      "two",
      "(It is Monday, 2026-11-23 00:20 (UTC+01:00, Europe/Berlin).)",
    ]);
    const replayed = JSON.stringify(replay(talk.journal).messages);
    for (const [shorter, longer] of [
      [JSON.stringify(first), JSON.stringify(second)],
      [JSON.stringify(second), replayed],
    ] as const) {
      expect(longer.startsWith(shorter.slice(0, -1))).toBe(true);
    }
  });

  test("does not repeat a time that was told just before, and names a place that has changed", async () => {
    const talk = session();
    await talk.next("one", evening);
    const [second] = await talk.next("two", evening + 5 * minute);
    expect(textsOf(second).at(-1)).toBe("two");
    const moved = { situation: { ...berlin, place: "the channel #release on Slack" } };
    const [third] = await talk.next("three", evening + 6 * minute, moved);
    expect(textsOf(third).at(-1)).toContain("#release");
  });

  test("names the skill that people have chosen once, another instead, and that none is chosen any more", async () => {
    const talk = session();
    const choosing = (skill: string) => ({ situation: { ...berlin, skill } });
    const last = async (text: string, options: Partial<RunOptions> = {}) => {
      const [messages] = await talk.next(text, evening, options);
      return textsOf(messages).at(-1);
    };
    expect(await last("one")).not.toContain("skill");
    expect(await last("two", choosing("changelog"))).toMatch(
      /people have chosen the skill changelog: load it with get_skill and follow it\.\)$/,
    );
    expect(await last("three", choosing("changelog"))).toBe("three");
    expect(await last("four", choosing("csv-report"))).toContain("the skill csv-report");
    expect(await last("five")).toContain("people have chosen no skill any more.");
    expect(await last("six")).toBe("six");
  });
});

test("Who writes in the middle of a long turn is answered with the time in view", async () => {
  let now = evening;
  const wait = tool("wait", "read", async () => {
    now += 30 * minute;
    return "waited";
  });
  const late = [say("and remind me in the morning", evening + 30 * minute)];
  const [, second, third] = await session().next("wait", evening, {
    now: () => now,
    tools: [wait],
    limits: { wallMs: 24 * 60 * minute },
    replies: [{ calls: [{ name: "wait" }] }, { calls: [{ name: "wait" }] }, { text: "Done." }],
    followUps: async () => (now > evening ? late.splice(0) : []),
  });
  expect(second?.slice(-2).map((message) => message.role === "user" && message.text)).toEqual([
    "and remind me in the morning",
    "(It is Monday, 2026-11-23 00:10 (UTC+01:00, Europe/Berlin).)",
  ]);
  // Between two steps nobody is told.
  expect(third?.at(-1)).toMatchObject({ role: "tool" });
});

test("The demo model plays its script although it is told the time", async () => {
  const { outcome } = await run({
    journal: asking("what do you remember?"),
    model: createDemoModel({ stepDelayMs: 0 }),
    situation: berlin,
    tools: [tool("recall_notes", "read", async () => "the colour is blue")],
  });
  expect(outcome).toMatchObject({ kind: "answered", text: expect.stringContaining("the colour is blue") });
});
