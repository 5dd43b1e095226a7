import { describe, expect, test } from "vitest";
import { createContextWindow } from "../../../src/agent/context/compaction.ts";
import type { AgentEvent } from "../../../src/agent/events.ts";
import { replay } from "../../../src/agent/journal/replay.ts";
import type { JournalRecord } from "../../../src/agent/journal/journal.ts";
import type { Message } from "../../../src/agent/messages.ts";
import { type LanguageModel, ModelError, type ModelRequest, noUsage } from "../../../src/agent/model.ts";
import { type Reply, scriptedModel } from "../../fakes/scripted-model.ts";
import { counter, run, say } from "../turn.ts";

await counter.load();

const window = 4_000;

/** A model of a small window that refuses, as a service does, what does not fit into it. */
function smallModel(
  reply: (request: ModelRequest, call: number) => Reply = () => ({ text: "## Done\nMuch." }),
): { model: LanguageModel; summaries: ModelRequest[]; requests: ModelRequest[] } {
  const summaries: ModelRequest[] = [];
  const { model, requests } = scriptedModel((request) => {
    const size = counter.count(request.system) + counter.countMessages(request.messages);
    if (size + (request.maxOutputTokens ?? 0) > window)
      return { error: new ModelError("overflow", "too long") };
    // A turn's own request has its system prompt.
    if (request.system === "system") return { text: "answered" };
    summaries.push(request);
    return reply(request, summaries.length);
  });
  return {
    model: { ...model, limits: { ...model.limits, contextTokens: window, maxOutputTokens: 400 } },
    summaries,
    requests,
  };
}

/** A thread of so many windows in which people and agent took turns, and then somebody asks for something. */
function longThread(
  windows: number,
  more = " and tell us in a few words what we should do about it, as soon as you know more of it".repeat(3),
): JournalRecord[] {
  const journal: JournalRecord[] = [{ type: "turn-start", turn: "t0", at: 1 }];
  for (let tokens = 0, n = 1; tokens < windows * window; n += 1) {
    const asked = say(`Wish ${n}: please look into report ${n}${more}`, n);
    const answer: Message = {
      role: "assistant",
      id: `a${n}`,
      model: "m",
      stop: "end",
      parts: [{ type: "text", text: `Fact ${n}: all is well with report ${n}${more}` }],
    };
    tokens += counter.countMessage(asked) + counter.countMessage(answer);
    journal.push({ type: "user", message: asked });
    journal.push({ type: "assistant", step: 1, message: answer, usage: noUsage, at: n });
  }
  const outcome = { kind: "answered", text: "", steps: 1, usage: noUsage } as const;
  journal.push({ type: "turn-end", turn: "t0", outcome, at: 90_000 });
  return [...journal, ...asks("t1", "And what of all that?", 90_001)];
}

function asks(turn: string, text: string, at: number): JournalRecord[] {
  return [
    { type: "turn-start", turn, at },
    { type: "user", message: say(text, at) },
  ];
}

const textOfRequest = ({ messages }: ModelRequest) => JSON.stringify(messages);
const summariesOf = (events: readonly AgentEvent[]) => events.filter((event) => event.type === "summary");
const noticesOf = (events: readonly AgentEvent[]) =>
  events.flatMap((event) => (event.type === "notice" ? [event.text] : []));
const lastSummary = (journal: readonly JournalRecord[]) => {
  const record = journal.findLast(({ type }) => type === "summary");
  if (record?.type !== "summary") throw new Error("There is no summary.");
  return record.message;
};

describe("A thread ten times larger than the window", () => {
  test("is summarised in pieces that each carry the summary so far, answered, and not summarised again", async () => {
    const { model, summaries, requests } = smallModel((_request, call) => ({
      text: `## Done\nRead part ${call}.`,
    }));
    const { outcome, events, journal } = await run({ model, journal: longThread(10) });
    expect(outcome).toMatchObject({ kind: "answered", text: "answered" });
    expect(summaries.length).toBeGreaterThan(1);
    expect(summaries.length).toBeLessThanOrEqual(12);
    expect(summariesOf(events)).toHaveLength(summaries.length);
    expect(noticesOf(events)).toEqual([
      `This conversation is far longer than the model's window: it is summarised in ${summaries.length} parts.`,
    ]);
    for (const [index, request] of summaries.entries())
      if (index > 0) expect(textOfRequest(request)).toContain(`Read part ${index}.`);
    // Each of them is read once: the first and the last, too.
    const read = summaries.map(textOfRequest).join("\n");
    const kept = JSON.stringify(replay(journal).messages);
    const facts = JSON.stringify(longThread(10)).match(/Fact \d+:/g) ?? [];
    expect(facts.length).toBeGreaterThan(200);
    expect(facts.filter((fact) => !read.includes(fact) && !kept.includes(fact))).toEqual([]);
    expect(lastSummary(journal).text).not.toContain("not summarised");

    const next = await run({ model, journal: [...journal, ...asks("t2", "And now?", 95_000)] });
    expect(next.outcome).toMatchObject({ kind: "answered" });
    expect(summariesOf(next.events)).toEqual([]);
    const [first, second] = requests.filter(({ system }) => system === "system");
    expect(second?.messages.slice(0, first?.messages.length)).toEqual(first?.messages);
  });

  test("keeps the newest requests whole and counts the oldest", async () => {
    const { model } = smallModel();
    const { journal } = await run({ model, journal: longThread(10) });
    const { text, intents = [], unlisted = 0 } = lastSummary(journal);
    expect(unlisted).toBeGreaterThan(100);
    expect(text).toContain(
      `- ${unlisted.toLocaleString("en-US")} older requests are not listed; search_history finds them.`,
    );
    const wish = new RegExp(`Wish ${unlisted + 1}:`);
    expect(intents[0]).toMatch(wish);
    expect(intents.at(-1)).toMatch(
      /^\[Ada\] Wish \d+: please look into report \d+ and tell us [^]* more of it$/,
    );
    expect(counter.count(intents.join("\n"))).toBeLessThan(window * 0.15);
  });

  test("stops at once between two pieces, and what is summarised stays so", async () => {
    const controller = new AbortController();
    const order = { by: "U1", at: 99_000 };
    const { model, summaries } = smallModel((_request, call) => {
      if (call === 2) controller.abort({ kind: "stop", order });
      return { text: "## Done\nMuch." };
    });
    const stopped = await run({ model, controller, journal: longThread(10) });
    expect(stopped.outcome).toMatchObject({ kind: "stopped" });
    expect(summaries).toHaveLength(2);
    expect(summariesOf(stopped.events)).toHaveLength(1);
    const again = await run({ model, journal: stopped.journal });
    expect(again.outcome).toMatchObject({ kind: "answered" });
  });

  test("is answered with a stated gap when a summary fails, and the later ones are not tried", async () => {
    const { model, summaries } = smallModel((_request, call) =>
      call === 2 ? { error: new ModelError("transient", "busy") } : { text: "## Done\nRead the beginning." },
    );
    const { outcome, journal } = await run({ model, journal: longThread(10) });
    expect(outcome).toMatchObject({ kind: "answered" });
    expect(summaries).toHaveLength(2);
    const { text, unsummarised = 0 } = lastSummary(journal);
    expect(text).toContain("Read the beginning.");
    expect(unsummarised).toBeGreaterThan(100);
    expect(text).toContain(
      `${unsummarised.toLocaleString("en-US")} older messages are not summarised; search_history finds them.`,
    );
  });
});

test("A thread a hundred times larger than the window takes twelve summaries, and the oldest part is a stated gap", async () => {
  const { model, summaries } = smallModel();
  const { outcome, events, journal } = await run({ model, journal: longThread(100) });
  expect(outcome).toMatchObject({ kind: "answered" });
  expect(summaries).toHaveLength(12);
  const { text, unsummarised = 0 } = lastSummary(journal);
  expect(unsummarised).toBeGreaterThan(1_000);
  const gap = unsummarised.toLocaleString("en-US");
  expect(text).toContain(`${gap} older messages are not summarised; search_history finds them.`);
  expect(noticesOf(events)[0]).toContain(`The oldest ${gap} messages are left to search_history.`);
});

test.each([1.1, 2, 2.4, 2.9])("A thread of %d windows takes one summary and no notice", async (windows) => {
  const { model, summaries } = smallModel();
  const { outcome, events } = await run({ model, journal: longThread(windows) });
  expect(outcome).toMatchObject({ kind: "answered" });
  expect(summaries).toHaveLength(1);
  expect(noticesOf(events)).toEqual([]);
});

test("A service whose window is smaller than believed gets smaller pieces, and still no more than twelve calls", async () => {
  const { model, summaries, requests } = smallModel();
  const believed = { ...model, limits: { ...model.limits, contextTokens: window * 2 } };
  const { outcome, journal } = await run({ model: believed, journal: longThread(8) });
  expect(outcome).toMatchObject({ kind: "answered" });
  expect(summaries.length).toBeGreaterThan(1);
  expect(requests.filter(({ system }) => system !== "system").length).toBeLessThanOrEqual(12);
  expect(lastSummary(journal).text).toContain("Much.");
});

test("A summary of a larger model's window fits a smaller summariser's request", async () => {
  const { model, summaries } = smallModel();
  const large = { ...model, limits: { ...model.limits, contextTokens: window * 8 } };
  const context = createContextWindow({ model: large, summariser: model, counter });
  let messages: readonly Message[] = replay(longThread(10)).messages;
  for (const force of [false, true]) {
    const fitting = context.compactToFit(messages, {
      fixed: "",
      force,
      signal: new AbortController().signal,
    });
    let next = await fitting.next();
    while (!next.done) next = await fitting.next();
    expect(next.value.tooLarge).toBe(false);
    messages = [...next.value.messages, say("more ".repeat(600), 97_000), say("and?", 98_000)];
  }
  expect(summaries.length).toBeGreaterThan(1);
});

test("A summary that is larger than the window by people's requests alone is made to fit without a model", async () => {
  const { model, summaries } = smallModel();
  const intents = Array.from({ length: 1_000 }, (_, n) => `[Ada] wish ${n}`);
  const asked = intents.map((intent) => `- ${intent}`).join("\n");
  const text = `# What people asked, oldest first\n${asked}\n\n# Where the work stands\n## Done\nHalf of it.`;
  const journal: JournalRecord[] = [
    { type: "summary", message: { role: "summary", text, intents }, keep: 0, usage: noUsage, at: 1 },
    ...asks("t1", "And now?", 2),
  ];
  const { outcome, events } = await run({ model, journal });
  expect(outcome).toMatchObject({ kind: "answered" });
  expect(summaries).toEqual([]);
  expect(summariesOf(events)).toHaveLength(1);
  expect(lastSummary(journal).text).toContain("## Done\nHalf of it.");
  expect(lastSummary(journal).intents?.at(-1)).toBe("[Ada] wish 999");
});
