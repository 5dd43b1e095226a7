import { describe, expect, test } from "vitest";
import type { JournalRecord } from "../../../src/agent/journal/journal.ts";
import { noUsage } from "../../../src/agent/model.ts";
import { heddle, type UserMessage } from "../../../src/agent/messages.ts";
import { searchHistory } from "../../../src/agent/tools/search-history.ts";
import { readerOf } from "../journal-reader.ts";
import { dispatcherOf, memoryNotes, run } from "./services.ts";

const at = Date.UTC(2026, 0, 2, 10, 30);
const says = (id: string, text: string, author = { id: "U1", name: "Ada" }): UserMessage => {
  return { role: "user", id, author, text, at };
};
const did = (name: string, input: unknown, result: string): JournalRecord[] => [
  {
    ...{ type: "assistant", step: 1, usage: noUsage, at },
    message: {
      ...{ role: "assistant", id: "a", model: "m", stop: "tool-calls" },
      parts: [{ type: "tool-call", call: { id: "c1", name, input } }],
    },
  },
  { type: "tool-start", callId: "c1", at },
  {
    ...{ type: "tool-result", durationMs: 1, at },
    message: { role: "tool", callId: "c1", name, status: "ok", text: result },
  },
];

function search(records: JournalRecord[], input: object, now = () => at) {
  const services = { notes: memoryNotes(), now, history: readerOf(() => records) };
  return run(dispatcherOf({ tools: [searchHistory], services }), "search_history", input);
}

const session: JournalRecord[] = [
  { type: "user", message: says("m1", "Deploy the Blue service") },
  ...did("bash", { command: "deploy blue" }, `line\n${"x ".repeat(600)} the key is 4711 ${"y ".repeat(600)}`),
  { type: "nudge", message: says("t1:0:recall", "deploy notes", heddle) },
];

describe("search_history", () => {
  test("finds what people said and what tools were called with and gave, newest first", async () => {
    const { text } = await search(session, { query: "BLUE deploy" });
    expect(text.split("\n")).toEqual([
      '#2 2026-01-02 10:30 call of bash: {"command":"deploy blue"}',
      "#1 2026-01-02 10:30 Ada: Deploy the Blue service",
    ]);
  });

  test("shows one line around the place that was found, and the whole entry when asked", async () => {
    const { text } = await search(session, { query: "4711" });
    expect(text).toMatch(/^#4 2026-01-02 10:30 ….*the key is 4711.*…$/);
    expect(text.length).toBeLessThan(300);
    const whole = await search(session, { entry: 4 });
    expect(whole.text).toMatch(/^#4 2026-01-02 10:30\nresult of bash \(ok\): line\nx x/);
  });

  test("pages back through many matches", async () => {
    const many = Array.from({ length: 45 }, (_, n): JournalRecord => {
      return { type: "user", message: says(`m${n}`, `wish ${n}`) };
    });
    const first = await search(many, { query: "wish" });
    expect(first.text).toMatch(/^#45 .*wish 44\n/);
    expect(first.text).toMatch(/\[Older ones match too: search with before 26\]$/);
    expect((await search(many, { query: "wish", before: 26 })).text).toMatch(/^#25 .*wish 24\n/);
    expect((await search(many, { query: "wish", before: 21 })).text).toMatch(/^#20 [^[]*#1 .*wish 0$/);
  });

  test("stops after some seconds, and says from where to go on", async () => {
    const many = Array.from({ length: 45 }, (_, n): JournalRecord => {
      if (n === 18) return { type: "turn-start", turn: "t", at };
      return { type: "user", message: says(`m${n}`, n === 40 || n === 2 ? "the needle" : "hay") };
    });
    let time = 0;
    // Each look at the clock takes as long as a piece of this journal.
    const clock = () => (time += 1_250);
    const first = await search(many, { query: "needle" }, clock);
    expect(first.text.split("\n")).toEqual([
      "#41 2026-01-02 10:30 Ada: the needle",
      "[Not searched: what is before #18. To go on, search with before 18]",
    ]);
    const { text } = await search(many, { query: "needle", before: 18 }, clock);
    expect(text).toBe("#3 2026-01-02 10:30 Ada: the needle");
  });

  test("never shows a message that was withdrawn, nor its own searches", async () => {
    const records: JournalRecord[] = [
      { type: "user", message: says("m1", "the secret wish") },
      { type: "withdrawn", id: "m1", reason: "stopped" },
      ...did("search_history", { query: "wish" }, "#1 the secret wish"),
    ];
    expect((await search(records, { query: "wish" })).text).toMatch(/^Nothing matches/);
    expect((await search(records, { query: "wish", before: 2 })).text).toMatch(/^Nothing matches/);
    expect((await search(records, { entry: 1 })).status).toBe("error");
  });

  test("wants either words or an entry, and says so where no history is kept", async () => {
    expect((await search(session, {})).text).toMatch(/give either query or entry/);
    expect((await search(session, { query: "a", entry: 1 })).text).toMatch(/give either query or entry/);
    const bare = dispatcherOf({ tools: [searchHistory] });
    expect((await run(bare, "search_history", { query: "a" })).text).toMatch(/^There is no history/);
  });

  test("finds nothing of a turn that the service refused, and the rest by the same numbers", async () => {
    const outcome = { kind: "refused", text: "no", steps: 1, usage: noUsage } as const;
    const records: JournalRecord[] = [
      { type: "turn-start", turn: "t1", at },
      ...session,
      { type: "turn-end", turn: "t1", outcome, at },
      { type: "turn-start", turn: "t2", at },
      { type: "user", message: says("m2", "Deploy the green service") },
    ];
    const { text } = await search(records, { query: "deploy" });
    expect(text).toBe("#9 2026-01-02 10:30 Ada: Deploy the green service");
    expect((await search(records, { query: "deploy", before: 5 })).text).toMatch(/^Nothing matches/);
    expect((await search(records, { entry: 2 })).status).toBe("error");
  });
});
