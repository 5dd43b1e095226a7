import { describe, expect, test } from "vitest";
import type { TurnOutcome } from "../../../src/agent/events.ts";
import { createFallbackModel } from "../../../src/agent/llm/fallback.ts";
import { type LanguageModel, ModelError, type ModelErrorKind } from "../../../src/agent/model.ts";
import { scriptedModel, type Reply } from "../../fakes/scripted-model.ts";
import { run } from "../turn.ts";

const failing = (kind: ModelErrorKind = "transient"): Reply => ({
  error: new ModelError(kind, "The model service is busy (HTTP 529) after 4 attempts.", { detail: "secret" }),
});

function named(id: string, replies: Parameters<typeof scriptedModel>[0]) {
  const { model, requests } = scriptedModel(replies);
  return { model: { ...model, id }, requests };
}

function fallback(models: [LanguageModel, ...LanguageModel[]], now = () => 0) {
  const failures: [string, string][] = [];
  const model = createFallbackModel({
    models,
    now,
    onFailure: (name, { detail }) => failures.push([name, detail]),
  });
  return { model, failures };
}

describe("The next model", () => {
  test.each<ModelErrorKind>(["transient", "quota", "not-found"])(
    "takes over for one that fails with %s, and the thread is told",
    async (kind) => {
      const first = named("a/1", [failing(kind)]);
      const second = named("b/2", [{ text: "Here." }]);
      const { model, failures } = fallback([first.model, second.model]);
      const { outcome, events } = await run({ model });
      expect(outcome).toMatchObject({ kind: "answered", text: "Here.", steps: 1 });
      expect(events).toContainEqual({
        type: "notice",
        text: "The model service is busy (HTTP 529) after 4 attempts. Going on with b/2.",
      });
      expect(second.requests[0]?.messages).toEqual(first.requests[0]?.messages);
      // The service's own words are for the log alone.
      expect(failures).toEqual([["a/1", "secret"]]);
      expect(JSON.stringify(events)).not.toContain("secret");
    },
  );

  test.each<[ModelErrorKind, TurnOutcome["kind"]]>([
    ["auth", "model-error"],
    ["invalid-request", "model-error"],
    ["content-filter", "refused"],
  ])("is not asked when one fails with %s", async (kind, outcome) => {
    const second = named("b/2", []);
    const { model } = fallback([named("a/1", [failing(kind)]).model, second.model]);
    expect((await run({ model })).outcome.kind).toBe(outcome);
    expect(second.requests).toEqual([]);
  });

  test("is asked until one answers, and when none does the turn ends with the last one's reason", async () => {
    const third = named("c/3", [{ text: "Third." }]);
    const broken = () => named("x/0", [failing()]).model;
    expect((await run({ model: fallback([broken(), broken(), third.model]).model })).outcome).toMatchObject({
      text: "Third.",
    });
    expect((await run({ model: fallback([broken(), broken()]).model })).outcome).toMatchObject({
      kind: "model-error",
      text: expect.stringContaining("busy"),
    });
  });

  test("goes on for a while without asking the first again, which then gets its turn back", async () => {
    let now = 0;
    const first = named("a/1", [failing(), { text: "I am back." }]);
    const second = named("b/2", () => ({ text: "Here." }));
    const { model } = fallback([first.model, second.model], () => now);
    await run({ model });
    await run({ model });
    expect([first.requests.length, second.requests.length]).toEqual([1, 2]);
    now = 60_000;
    expect((await run({ model })).outcome).toMatchObject({ text: "I am back." });
  });

  test.each([
    ["as long as its service asked", 1_800_000, 1_800_000],
    ["no longer than an hour, whatever its service asked", 1e12, 3_600_000],
    ["a minute at least, however soon its service would answer", 1_000, 60_000],
  ])("stands in for a failed one for %s", async (_, retryAfterMs, restMs) => {
    let now = 0;
    const error = new ModelError("transient", "The model service is busy (HTTP 429).", { retryAfterMs });
    const first = named("a/1", [{ error }, { text: "I am back." }]);
    const second = named("b/2", () => ({ text: "Here." }));
    const { model } = fallback([first.model, second.model], () => now);
    await run({ model });
    now = restMs - 1;
    await run({ model });
    expect([first.requests.length, second.requests.length]).toEqual([1, 2]);
    now = restMs;
    expect((await run({ model })).outcome).toMatchObject({ text: "I am back." });
  });

  test("is not asked after a stop", async () => {
    const second = named("b/2", []);
    const { model } = fallback([named("a/1", [{ hang: "let me" }]).model, second.model]);
    const { outcome } = await run({
      model,
      onEvent: (event, abort) =>
        event.type === "text-delta" && abort({ kind: "stop", order: { by: "Bob", at: 1 } }),
    });
    expect(outcome.kind).toBe("stopped");
    expect(second.requests).toEqual([]);
  });

  test("voids what the one before it had streamed", async () => {
    const cut: LanguageModel = {
      ...named("a/1", []).model,
      async *stream() {
        yield { type: "text", delta: "Half an ans" };
        throw new ModelError("transient", "The model service broke off its answer.");
      },
    };
    const { model } = fallback([cut, named("b/2", [{ text: "Whole." }]).model]);
    const { events, outcome } = await run({ model });
    expect(outcome).toMatchObject({ text: "Whole." });
    expect(events.map(({ type }) => type)).toEqual([
      "step-start",
      "text-delta",
      "step-start",
      "notice",
      "text-delta",
      "assistant",
    ]);
  });
});
