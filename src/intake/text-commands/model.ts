import { type Effort, efforts } from "../../agent/model.ts";
import type { ChoiceMenu } from "../../chat/outbound.ts";
import type { ThreadModel } from "../../queue/session/choices/thread-model.ts";

/** The models of a thread: the one that answers where nobody chooses, and those that people may choose. */
export interface ModelOffer {
  standard: string;
  choices: readonly string[];
  /** The efforts that a model takes, as far as is known. */
  efforts(model: string): readonly Effort[];
  /** The name that was probably meant by another. */
  nearest(written: string, names: readonly string[]): string | undefined;
}

/** What the whole message asks for: `!model`, or `/model` where the platform leaves that to us, with its words. */
export function readModelCommand(text: string): string[] | undefined {
  const words = /^[/!]model((?:\s+\S+){0,2})$/i.exec(text.trim())?.[1];
  return words === undefined ? undefined : words.split(/\s+/).filter(Boolean);
}

/** The reply to the command, and what it chooses, if that may be chosen. `{}` goes back to the standard. */
export function answerModelCommand(
  words: readonly string[],
  current: ThreadModel,
  { standard, choices, efforts: listEfforts, nearest }: ModelOffer,
): { markdown: string; chosen?: ThreadModel } {
  const possible = [...new Set([standard, ...choices])];
  const answering =
    current.model !== undefined && possible.includes(current.model) ? current.model : standard;
  const [first, second] = words;
  if (first === undefined) return { markdown: describe(answering, current.effort, possible) };

  // An effort alone is for the model that answers already.
  const isEffort = second === undefined && findEffort(first) !== undefined;
  const name = isEffort ? answering : findModel(first, possible, standard);
  if (name === undefined) return { markdown: refuseModel(first, possible, nearest) };
  const written = isEffort ? first : second;
  if (written === undefined) {
    return {
      markdown: `From the next task on, ${name} answers here.`,
      chosen: name === standard ? {} : { model: name },
    };
  }
  const effort = findEffort(written);
  const taken = listEfforts(name);
  if (effort === undefined || !taken.includes(effort)) {
    const instead = taken.length > 0 ? `choose one of ${taken.join(", ")}` : "leave it out";
    return { markdown: `${name} takes no effort ${written}: ${instead}.` };
  }
  return {
    markdown: `From the next task on, ${name} answers here, with effort ${effort}.`,
    chosen: { model: name, effort },
  };
}

const choicePrefix = "model:";

/** The model that the id of a choice names; undefined where it means something else. */
export function readModelChoice(id: string): string | undefined {
  return id.startsWith(choicePrefix) ? id.slice(choicePrefix.length) : undefined;
}

/** A menu of the models that may be chosen; none where there is only one. */
export function offerModels(current: ThreadModel, { standard, choices }: ModelOffer): ChoiceMenu[] {
  const possible = [...new Set([standard, ...choices])];
  if (possible.length < 2) return [];
  const options = possible.map((name) => {
    const isCurrent = name === (current.model ?? standard);
    const about = isCurrent ? "answers here" : name === standard ? "unless another is chosen" : undefined;
    return { id: `${choicePrefix}${name}`, label: name, ...(about !== undefined && { about }) };
  });
  return [{ label: "Choose the model from the next task on…", options }];
}

function findEffort(word: string): Effort | undefined {
  return efforts.find((effort) => effort === word.toLowerCase());
}

/** By its full name, or by the part behind the provider where only one has it. */
function findModel(word: string, possible: readonly string[], standard: string): string | undefined {
  if (word.toLowerCase() === "default") return standard;
  const written = word.toLowerCase();
  const [exact] = possible.filter((name) => name.toLowerCase() === written);
  const [short, another] = possible.filter((name) => name.toLowerCase().endsWith(`/${written}`));
  return exact ?? (another === undefined ? short : undefined);
}

function refuseModel(word: string, possible: readonly string[], nearest: ModelOffer["nearest"]): string {
  const bare = possible.map((name) => name.slice(name.indexOf("/") + 1));
  const near = nearest(word, possible) ?? possible[bare.indexOf(nearest(word, bare) ?? "")];
  const instead = near ? `did you mean ${near}?` : `choose one of ${possible.join(", ")}.`;
  return `The model ${word} cannot be chosen here: ${instead}`;
}

function describe(name: string, effort: Effort | undefined, possible: readonly string[]): string {
  const others = possible.filter((other) => other !== name);
  const how = effort === undefined ? "" : `, with effort ${effort}`;
  return others.length === 0
    ? `${name} answers here${how}; there is no other to choose. \`!model <effort>\` sets how hard it thinks.`
    : `${name} answers here${how}; there are ${others.join(", ")}. \`!model <name> [effort]\` chooses one, \`!model default\` goes back.`;
}
