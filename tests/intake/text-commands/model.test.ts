import { expect, test } from "vitest";
import { answerModelCommand, readModelCommand } from "../../../src/intake/text-commands/model.ts";
import { offer } from "../model-offer.ts";

test.each([
  ["!model", []],
  ["/model", []],
  [" !Model  openai/small high ", ["openai/small", "high"]],
  ["!model openai/small", ["openai/small"]],
  ["!models", undefined],
  ["!model one two three", undefined],
  ["model openai/small", undefined],
  ["which !model is it?", undefined],
])("%j is read as %j", (text, words) => {
  expect(readModelCommand(text)).toEqual(words);
});

const two = offer("openai/small", "router/vendor/huge");

test.each<[string, ReturnType<typeof answerModelCommand>["chosen"], RegExp]>([
  [
    "",
    undefined,
    /^openai\/small answers here, with effort low; there are test\/model, router\/vendor\/huge\./,
  ],
  ["openai/small", { model: "openai/small" }, /openai\/small answers here\.$/],
  ["huge", { model: "router/vendor/huge" }, /router\/vendor\/huge answers here\.$/],
  ["huge max", { model: "router/vendor/huge", effort: "max" }, /with effort max\.$/],
  ["high", { model: "openai/small", effort: "high" }, /openai\/small answers here, with effort high\.$/],
  ["default", {}, /test\/model answers here\.$/],
  ["openai/smal", undefined, /^The model openai\/smal cannot be chosen here: did you mean openai\/small\?$/],
  ["smal", undefined, /did you mean openai\/small\?$/],
  ["gpt", undefined, /choose one of test\/model, openai\/small, router\/vendor\/huge\.$/],
  ["huge hardest", undefined, /^router\/vendor\/huge takes no effort hardest: choose one of none, /],
])("!model %s", (words, chosen, reply) => {
  const current = { model: "openai/small", effort: "low" } as const;
  const answer = answerModelCommand(words.split(" ").filter(Boolean), current, two);
  expect(answer.chosen).toEqual(chosen);
  expect(answer.markdown).toMatch(reply);
});

test("a model that may be chosen no more does not answer any longer", () => {
  const { markdown } = answerModelCommand([], { model: "openai/gone" }, offer());
  expect(markdown).toMatch(/^test\/model answers here; there is no other to choose/);
});
