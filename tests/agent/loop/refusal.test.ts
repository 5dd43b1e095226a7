import { expect, onTestFinished, test } from "vitest";
import type { TurnOutcome } from "../../../src/agent/events.ts";
import { replay } from "../../../src/agent/journal/replay.ts";
import type { JournalRecord } from "../../../src/agent/journal/journal.ts";
import { createAnthropicModel } from "../../../src/agent/llm/anthropic/anthropic.ts";
import { type LanguageModel, ModelError, noUsage } from "../../../src/agent/model.ts";
import { startFakeAnthropic } from "../../fakes/anthropic.ts";
import { fake, limits, model, retry } from "../llm/openai/run.ts";
import { asking, run, say, tool } from "../turn.ts";

const filter = new ModelError("content-filter", "The model service's content filter blocked the request.");

/** What a worker adds when the turn is over, and what it writes down first of the next one. */
function andThen({ journal, outcome }: Awaited<ReturnType<typeof run>>, text: string): JournalRecord[] {
  return [
    ...journal,
    { type: "turn-end", turn: "t1", outcome, at: 3_000 },
    { type: "turn-start", turn: "t2", at: 4_000 },
    { type: "user", message: say(text, 4_000) },
  ];
}

/** Services that read the whole of each request and refuse one with a certain word in it, each in its own way. */
const services: Record<string, () => Promise<LanguageModel>> = {
  async "Anthropic's protocol"() {
    const service = await startFakeAnthropic({
      replies: (body) => {
        const refuses = JSON.stringify(body.messages).includes("forbidden");
        return {
          content: [{ type: "text", text: refuses ? "Well, " : "Blue." }],
          ...(refuses && { stop: "refusal" }),
        };
      },
    });
    onTestFinished(() => service.close());
    const access = { apiKey: service.apiKey, baseUrl: service.url };
    return createAnthropicModel({ model: "claude-sonnet-5-5", ...access, limits, retry });
  },
  async "chat completions"() {
    const server = await fake({
      replies: (body) =>
        JSON.stringify(body).includes("forbidden")
          ? { status: 400, code: "content_filter", message: "The prompt was filtered." }
          : { text: "Blue." },
    });
    return model("chat", server);
  },
  async "the Responses protocol"() {
    const server = await fake({
      replies: (body) =>
        JSON.stringify(body).includes("forbidden")
          ? { status: 400, code: "invalid_prompt", message: "Flagged as violating our usage policy." }
          : { text: "Blue." },
    });
    return model("responses", server);
  },
};

test.each(Object.entries(services))(
  "What a service of %s has refused does not make it refuse the next turn",
  async (_name, start) => {
    const service = await start();
    const first = await run({ model: service, journal: asking("the forbidden thing") });
    expect(first.outcome.kind).toBe("refused");
    const second = await run({ model: service, journal: andThen(first, "which colour?") });
    expect(second.outcome).toMatchObject({ kind: "answered", text: "Blue." });
  },
);

test("A refused turn leaves a note of who asked and which tools ran, and all that was said before it", async () => {
  const stopped: TurnOutcome = { kind: "stopped", order: { by: "Bob", at: 600 }, steps: 0, usage: noUsage };
  const earlier: JournalRecord[] = [
    ...asking("hello", 500),
    { type: "turn-end", turn: "t1", outcome: stopped, at: 600 },
  ];
  const before = replay(earlier).messages;
  const refused = await run({
    journal: [...earlier, ...asking("the forbidden thing")],
    replies: [{ calls: [{ name: "look" }] }, { error: filter }],
    tools: [tool("look", "read", async () => "forbidden too")],
  });
  expect(refused.outcome).toMatchObject({ kind: "refused", text: filter.message, steps: 2 });
  const { messages } = replay(andThen(refused, "and now?"));
  expect(messages.slice(0, before.length)).toEqual(before);
  expect(messages.slice(before.length)).toEqual([
    expect.objectContaining({ id: "t1:refused", text: expect.stringMatching(/by Ada,.* used: look\./) }),
    say("and now?", 4_000),
  ]);
});

test.each([
  ["is blocked", { error: filter }],
  ["is declined", { text: "I will not.", stop: "refusal" }],
] as const)("A turn whose last reply %s is refused, and not paused", async (_how, reply) => {
  const { outcome } = await run({
    replies: [{ calls: [{ name: "look" }] }, reply],
    tools: [tool("look", "read", async () => "forbidden")],
    limits: { steps: 1 },
  });
  expect(outcome).toMatchObject({ kind: "refused", steps: 1 });
});
