import { isDeepStrictEqual } from "node:util";
import { isFromPerson, type Message, type ToolCall, toolCalls, type ToolMessage } from "../messages.ts";
import { withoutRuntime } from "../tools/jobs.ts";

/** Equal rounds in a row after which the model gets a hint, and after which the turn ends. */
export const equalRounds = { hint: 3, end: 6 };

/** The longest round that is recognised, in steps: A, or A-B, or A-B-C, again and again. */
const longestRound = 3;

/** The last steps of a conversation, as far as they repeat. */
export interface Repetition {
  /** Steps of one round. */
  round: number;
  /** How many of the last steps equal the one a round before them, with the first round; a begun round counts. */
  steps: number;
}

/** How often the last round was made, whole, one after the other. */
export function countRounds({ round, steps }: Repetition): number {
  return Math.floor(steps / round);
}

/** Whether the newest step has just completed so many rounds. */
export function completesRounds({ round, steps }: Repetition, rounds: number): boolean {
  return steps === round * rounds;
}

/** In words for people. */
export function describeRepetition(repetition: Repetition): string {
  const { round, steps } = repetition;
  return round === 1
    ? `${steps} equal steps in a row`
    : `the same ${round} steps ${countRounds(repetition)} times in a row`;
}

/**
 * How far the last steps made the same calls with the same results, each of them or in rounds of two or three. Of several
 * rounds that fit it is the one that was made most often.
 */
export function findRepetition(messages: readonly Message[]): Repetition {
  const steps: Step[] = [];
  const ended: Repetition[] = [];
  let rounds = Array.from({ length: longestRound }, (_, index) => index + 1);
  for (const step of readLastSteps(messages)) {
    const fits = (round: number) => {
      const later = steps[steps.length - round];
      return !later || isSameStep(step, later);
    };
    ended.push(...rounds.filter((round) => !fits(round)).map((round) => ({ round, steps: steps.length })));
    rounds = rounds.filter(fits);
    if (rounds.length === 0) break;
    steps.push(step);
    if (steps.length === longestRound * equalRounds.end) break;
  }
  const all = [...ended, ...rounds.map((round) => ({ round, steps: steps.length }))];
  return all.reduce((most, next) => (countRounds(next) > countRounds(most) ? next : most), {
    round: 1,
    steps: 0,
  });
}

interface Step {
  calls: readonly ToolCall[];
  /** From the last to the first. */
  results: readonly string[];
}

/**
 * The steps with calls since somebody said something, from the newest on: what a person says may be the reason to do the
 * same again.
 */
function* readLastSteps(messages: readonly Message[]): Generator<Step> {
  let results: string[] = [];
  // Backwards by index: a copy of a long conversation, made each step, would be most of the step's cost.
  for (let at = messages.length - 1; at >= 0; at -= 1) {
    const message = messages[at];
    if (!message || message.role === "summary" || isFromPerson(message)) return;
    if (message.role === "tool") results.push(describeResult(message));
    if (message.role !== "assistant") continue;
    const calls = toolCalls(message);
    if (calls.length === 0) return;
    yield { calls, results };
    results = [];
  }
}

/**
 * What counts of a result. A call that fails again has the same one whatever the error's words are: they may hold a time or
 * a trace id. So has a background command that has printed nothing new.
 */
function describeResult({ name, status, text }: ToolMessage): string {
  if (status === "error") return "error";
  return name === "bash_output" ? withoutRuntime(text) : text;
}

function isSameStep(one: Step, other: Step): boolean {
  return (
    one.calls.length === other.calls.length &&
    one.results.length === other.results.length &&
    one.results.every((result, index) => result === other.results[index]) &&
    one.calls.every((call, index) => isSameCall(call, other.calls[index]))
  );
}

function isSameCall(one: ToolCall, other: ToolCall | undefined): boolean {
  return (
    one.name === other?.name &&
    one.malformed === other.malformed &&
    // What a malformed call has as its input says nothing.
    (one.malformed !== undefined || isDeepStrictEqual(one.input, other.input))
  );
}
