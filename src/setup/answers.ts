import { z } from "zod";
import { check, readYaml } from "../config/check-yaml.ts";
import { fillInVariables } from "../config/header-variables.ts";
import { defaultModels } from "../config/model-choice.ts";
import type { StepResult } from "./context.ts";
import { type Dialog, type QuestionId, StepFailed } from "./dialog.ts";

const answer = z.union([z.string(), z.boolean()], "expected a text, or yes or no").optional();
const ids = [
  ...["model", "model.key", "model.name", "model.next"],
  ...["slack", "slack.configurationToken", "slack.botToken", "slack.appToken", "slack.next"],
  ...[
    "discord",
    "discord.token",
    "discord.messageContent",
    "discord.invited",
    "discord.server",
    "discord.next",
  ],
  ...["listen", "administrator"],
] as const satisfies readonly QuestionId[];

const answersSchema = z.strictObject(Object.fromEntries(ids.map((id) => [id, answer])));

export type Answers = Readonly<Partial<Record<QuestionId, string | boolean>>>;

/**
 * Reads a file of answers: YAML with the ids of questions as keys. `${NAME}` stands for a variable of the environment, so
 * that the file need not hold secrets.
 *
 * @param where the file, for people
 * @throws ConfigError
 */
export function parseAnswers(
  text: string,
  where: string,
  variables: Readonly<Record<string, string>>,
): Answers {
  const answers = check(answersSchema, readYaml(text, where), where);
  const texts = Object.fromEntries(
    Object.entries(answers).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
  return { ...answers, ...fillInVariables(texts, variables, "answers").headers };
}

/** Answers that take a key or tokens, and those that have them. */
const needs: Readonly<Record<string, string>> = {
  ...Object.fromEntries(defaultModels.map(({ provider }) => [`model: ${provider}`, "model.key"])),
  "slack: tokens": "slack.botToken and slack.appToken",
  "discord: token": "discord.token",
};

/**
 * How a step has ended, where a file answers. A person may leave a question, and come back to it; a file that chooses what
 * takes a key and has none would leave a Heddle that cannot answer.
 */
export function judgeStep(step: string, answers: Answers, result: StepResult): StepResult {
  const chosen = `${step}: ${String(answers[step as QuestionId])}`;
  const missing = needs[chosen];
  // What waits on Discord is somebody else's to do.
  const isLeft = result.state === "skipped" || (step === "slack" && result.state === "waiting");
  if (missing === undefined || !isLeft) return result;
  return { state: "failed", text: `${result.text} In the answers, ${chosen} needs ${missing}.` };
}

/** Answers from a file, for where nobody sits at a terminal. A question without an answer is left. */
export function createAnswersDialog(answers: Answers, say: (text: string) => void): Dialog {
  const used = new Set<QuestionId>();
  /** What is asked again was answered wrongly. */
  const take = (id: QuestionId): string | boolean | undefined => {
    if (!used.has(id)) {
      used.add(id);
      return answers[id];
    }
    if (answers[id] === undefined) return undefined;
    throw new StepFailed(`The answer to ${id} does not work.`);
  };
  return {
    say,
    ask: async (id, _text, { standard = "" } = {}) => String(take(id) ?? standard),
    async choose(id, _text, choices, { unanswered }) {
      const said = take(id);
      const value = typeof said === "boolean" ? (said ? "yes" : "no") : said;
      if (value === undefined) return unanswered;
      const found = choices.find((choice) => choice.value === value || choice.label === value);
      if (found) return found.value;
      const known = choices.map((choice) => choice.value).join(", ");
      throw new StepFailed(`The answer to ${id} is none of ${known}.`);
    },
    confirm: async (id) => take(id) === true || answers[id] === "yes",
    copy() {},
  };
}
