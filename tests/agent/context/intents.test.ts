import { describe, expect, test } from "vitest";
import { createContextWindow } from "../../../src/agent/context/compaction.ts";
import { fitIntents } from "../../../src/agent/context/intents.ts";
import type { JournalRecord } from "../../../src/agent/journal/journal.ts";
import type { Message, SummaryMessage, UserMessage } from "../../../src/agent/messages.ts";
import { searchHistory } from "../../../src/agent/tools/search-history.ts";
import { scriptedModel } from "../../fakes/scripted-model.ts";
import { readerOf } from "../journal-reader.ts";
import { counter, say } from "../turn.ts";

await counter.load();

const code = "```python\ndef f(x):\n    if x:\n        return 1\n    return 2\n```";
const spec = `Build it so:\n${"- one more requirement of many that all matter\n".repeat(190)}The last requirement: blue.`;

/** Compacts a thread of these messages, each answered, for a model of so large a window. */
async function summariseThread(
  contextTokens: number,
  messages: readonly UserMessage[],
  rounds = 1,
  answerWords = 20,
) {
  const { model } = scriptedModel(() => ({ text: "## Done\nMuch." }));
  const sized = { ...model, limits: { ...model.limits, contextTokens } };
  const context = createContextWindow({ model: sized, counter, policy: { retainRounds: 0, retainSteps: 1 } });
  const answer = (n: number): Message => ({
    role: "assistant",
    id: `a${n}`,
    model: "m",
    stop: "end",
    parts: [{ type: "text", text: "Well. ".repeat(answerWords) }],
  });
  const journal: JournalRecord[] = messages.map((message) => ({ type: "user", message }));
  let current: readonly Message[] = [...messages.flatMap((message, n) => [message, answer(n)]), answer(-1)];
  for (let round = 0; round < rounds; round += 1) {
    const options = {
      fixed: "",
      force: true,
      journal: readerOf(() => journal),
      signal: new AbortController().signal,
    };
    const fitting = context.compactToFit([...current, answer(round + 900)], options);
    let next = await fitting.next();
    while (!next.done) next = await fitting.next();
    current = next.value.messages;
  }
  const [summary] = current;
  if (summary?.role !== "summary") throw new Error("There is no summary.");
  const open = (entry: number) =>
    searchHistory.run({ entry }, {
      history: readerOf(() => journal),
      now: () => 0,
      signal: new AbortController().signal,
    } as Parameters<typeof searchHistory.run>[1]);
  return { summary, open };
}

const listed = ({ intents = [] }: SummaryMessage) => intents.join("\n");

describe("People's words in a summary", () => {
  test.each([200_000, 1_000_000])("stand with their lines in a window of %d tokens", async (window) => {
    const { summary } = await summariseThread(
      window,
      [say(code, 1), say(spec, 2), say("And now?", 3)],
      1,
      5_000,
    );
    expect(listed(summary)).toContain(code);
    expect(listed(summary)).toContain(spec);
    expect(summary.text).toContain(`- [Ada] ${code.replaceAll("\n", "\n  ")}`);
  });

  test("that do not fit lose their middle, and search_history opens the whole, also after many summaries", async () => {
    const asked = Array.from({ length: 12 }, (_, n) => say(`Wish ${n}:\n${spec} Yours, ${n}.`, n + 1));
    const { summary, open } = await summariseThread(24_000, asked, 4);
    expect(summary.intents).toHaveLength(12);
    const cut = (summary.intents ?? []).map((text) => /#(\d+)/.exec(text)?.[1]);
    expect(cut.filter(Boolean).length).toBeGreaterThan(8);
    for (const [n, entry] of cut.entries()) {
      if (entry === undefined) continue;
      expect(summary.intents?.[n]).toMatch(
        new RegExp(`^\\[Ada\\] Wish ${n}:\\n[^]* \\[… #${entry} …\\] [^]* ${n}\\.$`),
      );
      expect(await open(Number(entry))).toMatchObject({
        status: "ok",
        text: expect.stringContaining(`${spec} Yours, ${n}.`),
      });
    }
    expect(summary.text).toContain("search_history with entry N shows the whole message");
  });

  test("say that a picture came with them", async () => {
    const image = { mediaType: "image/png", data: "AAAA" } as const;
    const asked = [{ ...say("What is this?", 1), images: [image] }, say("And now?", 2)];
    const { summary } = await summariseThread(100_000, asked);
    expect(listed(summary)).toContain("What is this?\n[1 picture came with it, which is out of view]");
  });

  test("are not the order to compact", async () => {
    const { summary } = await summariseThread(100_000, [
      say("Wish", 1),
      say("/compact", 2),
      say("And now?", 3),
    ]);
    expect(listed(summary)).not.toContain("compact");
  });
});

describe("What is kept of requests", () => {
  const intent = (text: string, entry?: number) => ({ text, entry });
  const fit = (texts: string[], tokens: number) =>
    fitIntents(
      texts.map((text, n) => intent(text, n + 1)),
      { tokens, counter },
    );

  test("is all of it while it fits, lines included", () => {
    const texts = ["[Ada] run\n  this: yaml", "[Bob] and this"];
    expect(fit(texts, 100)).toEqual({
      kept: [intent(texts[0] ?? "", 1), intent(texts[1] ?? "", 2)],
      dropped: 0,
    });
  });

  test("is the beginning and the end of long older ones, and the newest whole", () => {
    const long = `[Ada] begin ${"and so on ".repeat(200)} end`;
    const { kept, dropped } = fit([long, "[Ada] one", "[Ada] two"], 100);
    expect(kept[0]?.text).toMatch(/^\[Ada\] begin .* \[… #1 …\] .* end$/);
    expect(kept.slice(1).map(({ text }) => text)).toEqual(["[Ada] one", "[Ada] two"]);
    expect(dropped).toBe(0);
  });

  test("never takes more than its limit, however many there are", () => {
    const texts = Array.from({ length: 10_000 }, (_, n) => `[Ada] ${n}: ${"word ".repeat(30)}`);
    const { kept, dropped } = fit(texts, 2_000);
    expect(kept.length + dropped).toBe(10_000);
    expect(counter.count(kept.map(({ text }) => text).join("\n"))).toBeLessThanOrEqual(2_000);
    expect(kept.at(-1)?.text).toBe(texts.at(-1));
  });
});
