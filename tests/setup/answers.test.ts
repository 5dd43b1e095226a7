import { expect, test } from "vitest";
import { parseAnswers } from "../../src/setup/answers.ts";

test.each([
  ["model: [", "answers.yaml is not YAML: "],
  ["modle: demo", "modle: unknown key; known here: model, model.key"],
  ["modle: demo", "Did you mean model?"],
  ["slack.botToken: 5", "slack.botToken: expected a text, or yes or no."],
  ["model.key: ${NOPE}", "answers.model.key: NOPE is not set"],
])("answers that cannot be used are refused with their place: %s", (text, sentence) => {
  const read = () => parseAnswers(text, "answers.yaml", {});
  expect(read).toThrow(sentence);
  expect(read).toThrow(expect.objectContaining({ name: "ConfigError" }));
});

test("an empty file answers nothing, and variables are filled in", () => {
  expect(parseAnswers("# nothing yet\n", "answers.yaml", {})).toEqual({});
  const text = "model: anthropic\nmodel.key: ${KEY}\nlisten: true\n";
  expect(parseAnswers(text, "answers.yaml", { KEY: "sk-1" })).toEqual({
    ...{ model: "anthropic", "model.key": "sk-1", listen: true },
  });
});
