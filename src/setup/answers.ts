import { parse } from "yaml";
import { z } from "zod";
import { fillInVariables } from "../config/header-variables.ts";
import { ConfigError } from "../config/config-error.ts";
import { type Dialog, type QuestionId, StepFailed } from "./dialog.ts";

const answer = z.union([z.string(), z.boolean()]).optional();
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
 * that the file need not hold secrets. @throws ConfigError
 */
export function parseAnswers(text: string, variables: Readonly<Record<string, string>>): Answers {
  const result = answersSchema.safeParse(parse(text) ?? {});
  if (!result.success)
    throw new ConfigError(
      `The answers cannot be used: expected some of ${ids.join(", ")}, each with a text or yes/no in YAML.`,
    );
  const texts = Object.fromEntries(
    Object.entries(result.data).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
  return { ...result.data, ...fillInVariables(texts, variables, "answers").headers };
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
