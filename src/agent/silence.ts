import type { TurnOutcome } from "./events.ts";
import { isFromPerson, type UserMessage } from "./messages.ts";

/**
 * Turns that nobody has asked for: something was said where the agent listens, to somebody else or to nobody. Such a
 * turn says nothing unless it has something to say, and nobody sees that it works.
 *
 * The model keeps silent by a reply that is nothing but a word. That costs no further call, as a tool would, and leaves
 * tools and system prompt as they are in every other turn, so that the service's cache of them holds.
 */

/** With this alone as its reply the model says nothing. */
export const silenceWord = "NO_REPLY";

/** Whether the turn may end without a word: nobody has addressed the agent in it so far. */
export function mayKeepSilent(asked: readonly UserMessage[]): boolean {
  const people = asked.filter(isFromPerson);
  return people.length > 0 && people.every(({ unaddressed }) => unaddressed === true);
}

/**
 * Whether a reply is the decision to say nothing. Models write what they thought before the word or behind it; then too
 * they did not mean to speak, and silence is what harms least.
 *
 * @example
 * isSilence("**NO_REPLY**") // → true
 * isSilence("They are planning lunch.\n\nNO_REPLY") // → true
 * isSilence("The word NO_REPLY stands for silence.") // → false
 */
export function isSilence(reply: string): boolean {
  const lines = reply.split("\n").filter((line) => /\w/.test(line));
  return [lines[0], lines.at(-1)].some((line = "") => line.replaceAll(/[^\w]/g, "") === silenceWord);
}

/** How a turn has ended, where it matters whether it has said anything. */
export type TurnEnding = TurnOutcome["kind"] | "silent";

export function nameEnding(outcome: TurnOutcome): TurnEnding {
  return outcome.kind === "answered" && outcome.silent ? "silent" : outcome.kind;
}
