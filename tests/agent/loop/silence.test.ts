import { describe, expect, test } from "vitest";
import { replay } from "../../../src/agent/journal/replay.ts";
import type { JournalRecord } from "../../../src/agent/journal/journal.ts";
import { formatUserText, type Message, type UserMessage } from "../../../src/agent/messages.ts";
import { isSilence } from "../../../src/agent/silence.ts";
import { run, type RunOptions, say, tool } from "../turn.ts";

const overheard = (text: string, at = 1_000): UserMessage => ({ ...say(text, at), unaddressed: true });

/** A turn that begins with something said to nobody. */
function hear(options: RunOptions, ...messages: UserMessage[]) {
  const journal: JournalRecord[] = [
    { type: "turn-start", turn: "t1", at: 1_000 },
    ...messages.map((message) => ({ type: "user", message }) as const),
  ];
  return run({ journal, ...options });
}

const offersOf = (messages: readonly Message[] = []) =>
  messages.flatMap((message) =>
    message.role === "user" && message.id.endsWith(":silence") ? [message.text] : [],
  );

describe("A turn that nobody has asked for", () => {
  test.each([
    "NO_REPLY",
    "**NO_REPLY**\n",
    "`NO_REPLY`.",
    "They plan lunch.\n\nNO_REPLY",
    "NO_REPLY\n\nNot mine.",
  ])("says nothing where the model replies %j, in one call", async (text) => {
    const { outcome, requests } = await hear({ replies: [{ text }] }, overheard("lunch?"));
    expect(outcome).toMatchObject({ kind: "answered", silent: true, text: "", steps: 1 });
    expect(outcome.usage.calls).toBe(1);
    expect(requests).toHaveLength(1);
  });

  test("says nothing where the reply is empty, and does not ask again", async () => {
    const { outcome, requests } = await hear({ replies: [{ text: " " }] }, overheard("lunch?"));
    expect(outcome).toMatchObject({ kind: "answered", silent: true });
    expect(requests).toHaveLength(1);
  });

  test("says what the model says, also after calls, and the word within a sentence", async () => {
    const text = "The word NO_REPLY stands for silence.";
    const look = tool("look", "read", async () => "blue");
    const replies = [{ text: "NO_REPLY", calls: [{ name: "look" }] }, { text }];
    const { outcome } = await hear({ replies, tools: [look] }, overheard("what is NO_REPLY?"));
    expect(outcome).toMatchObject({ kind: "answered", text });
    expect(outcome).not.toHaveProperty("silent");
  });

  test("tells the model who was not speaking to it, how to say nothing, and what its operator wants", async () => {
    const options = { replies: [{ text: "NO_REPLY" }], watch: "Only speak of builds." };
    const { requests } = await hear(options, overheard("lunch?"));
    const [first] = requests[0]?.messages ?? [];
    expect(first?.role === "user" && formatUserText(first)).toBe("[Ada, not to you] lunch?");
    const [offer, ...more] = offersOf(requests[0]?.messages);
    expect(more).toEqual([]);
    expect(offer).toContain("reply with NO_REPLY and nothing else");
    expect(offer).toContain("Only speak of builds.");
  });

  test("is not told again what is in view, and continues the request before it", async () => {
    const journal: JournalRecord[] = [];
    const sent: string[] = [];
    for (const at of [1_000, 2_000]) {
      journal.push({ type: "turn-start", turn: `t${at}`, at }, { type: "user", message: overheard("x", at) });
      const { outcome, requests } = await run({ journal, replies: [{ text: "NO_REPLY" }] });
      journal.push({ type: "turn-end", turn: `t${at}`, outcome, at });
      expect(offersOf(requests[0]?.messages)).toHaveLength(1);
      sent.push(JSON.stringify(requests[0]?.messages));
    }
    expect(sent[1]?.startsWith(sent[0]?.slice(0, -1) ?? "-")).toBe(true);
    expect(offersOf(replay(journal).messages)).toHaveLength(1);
  });

  test("must answer once somebody addresses it", async () => {
    const arrived = [[], [say("and you?", 3_000)]];
    const { outcome, requests } = await hear(
      {
        replies: [{ calls: [{ name: "look" }] }, { text: "NO_REPLY" }, { text: "Me too." }],
        tools: [tool("look", "read", async () => "blue")],
        followUps: async () => arrived.shift() ?? [],
      },
      overheard("lunch?"),
    );
    expect(requests).toHaveLength(3);
    expect(outcome).toMatchObject({ kind: "answered", text: "Me too." });
  });

  test("takes no order to compact from what was not said to it", async () => {
    const { outcome, requests } = await hear({ replies: [{ text: "NO_REPLY" }] }, overheard("compact"));
    expect(outcome).toMatchObject({ silent: true });
    expect(requests).toHaveLength(1);
  });
});

describe("A turn that somebody has asked for", () => {
  test("says the word where the model says it, and is offered no silence", async () => {
    const { outcome, requests } = await run({ replies: [{ text: "NO_REPLY" }] });
    expect(outcome).toMatchObject({ kind: "answered", text: "NO_REPLY" });
    expect(offersOf(requests[0]?.messages)).toEqual([]);
  });
});

test("A word that only begins like the one for silence is none", () => {
  expect(["", "NO_REPLYING", "NO REPLY", "no_reply", "> I say: NO_REPLY"].map(isSilence)).toEqual(
    Array.from({ length: 5 }, () => false),
  );
});
