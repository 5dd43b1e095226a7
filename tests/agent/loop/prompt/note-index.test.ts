import { describe, expect, test } from "vitest";
import { formatNoteIndex } from "../../../../src/agent/loop/prompt/note-index.ts";
import type { Note } from "../../../../src/agent/contracts/note-store.ts";
import { recordNote } from "../../../../src/agent/tools/note-tools.ts";
import { memoryNotes } from "../../tools/services.ts";
import { asking, run } from "../../turn.ts";

const note = (n: number, text = `fact ${n}`): Note => {
  return { id: `n${n}`, scope: "thread", category: "general", text, author: "Ada", at: n };
};

describe("The list of notes", () => {
  test("is empty without notes", () => {
    expect(formatNoteIndex([])).toBe("");
  });

  test("has a short line for each, the newest first", () => {
    const lines = formatNoteIndex([note(1, "one\nfact"), note(2, "x".repeat(500))]).split("\n");
    expect(lines[1]).toMatch(/^- n2 \[thread, general\] x{159}…$/);
    expect(lines[2]).toBe("- n1 [thread, general] one fact)");
  });

  test("stays short however many there are", () => {
    const index = formatNoteIndex(Array.from({ length: 500 }, (_, n) => note(n)));
    expect(index).toContain("460 more: use recall_notes");
    expect(index.split("\n")).toHaveLength(42);
  });
});

describe("At the start of a turn", () => {
  /** A turn of a session after another one, with the notes as they are then. */
  const turns = (journal = asking("hello")) => ({
    journal,
    async next(text: string | undefined, ...notes: Note[]) {
      if (text !== undefined) journal.push(...asking(text, journal.length * 1_000));
      const ran = await run({
        journal,
        replies: [{ text: "Hi." }],
        readNoteIndex: async () => formatNoteIndex(notes),
      });
      journal.push({ type: "turn-end", turn: "t1", outcome: ran.outcome, at: 1 });
      return ran.requests[0]?.messages ?? [];
    },
  });

  test("the model reads the notes behind the people's message", async () => {
    const messages = await turns().next(undefined, note(1));
    expect(messages.map(({ role }) => role)).toEqual(["user", "user"]);
    expect(messages[1]).toMatchObject({
      author: { id: "heddle" },
      text: expect.stringContaining("- n1 [thread, general] fact 1"),
    });
  });

  test("they are told again only when they have changed, and each request continues the one before", async () => {
    const session = turns();
    const first = await session.next(undefined, note(1));
    const second = await session.next("again", note(1));
    const third = await session.next("and now", note(1), note(2));
    const fourth = await session.next("and then");
    const told = (messages: typeof first) => messages.filter(({ role }) => role === "user").length;
    expect([first, second, third, fourth].map(told)).toEqual([2, 3, 5, 7]);
    expect(fourth.at(-1)).toMatchObject({ text: "(There are no notes any more.)" });
    // The bytes of a request are a prefix of the next one's, so that the provider's cache holds.
    for (const [shorter, longer] of [
      [first, second],
      [second, third],
      [third, fourth],
    ] as const) {
      expect(JSON.stringify(longer).startsWith(JSON.stringify(shorter).slice(0, -1))).toBe(true);
    }
  });

  test("nothing is said without notes, or when nobody can tell", async () => {
    expect(await turns().next(undefined)).toHaveLength(1);
    const { requests } = await run({ replies: [{ text: "Hi." }], readNoteIndex: async () => undefined });
    expect(requests[0]?.messages).toHaveLength(1);
  });

  test("they are not told in the middle of a turn, also not to a worker that resumes it", async () => {
    const notes = memoryNotes();
    const readNoteIndex = async () => formatNoteIndex(await notes.list());
    const journal = asking("remember this");
    const call = { name: "record_note", input: { content: "a fact" } };
    await run({
      journal,
      replies: [{ calls: [call] }],
      tools: [recordNote],
      services: { notes },
      readNoteIndex,
      onEvent: (event, abort) => event.type === "tool-end" && abort({ kind: "shutdown" }),
    });
    const { requests } = await run({ journal, replies: [{ text: "Noted." }], readNoteIndex });
    expect(requests[0]?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
  });
});
