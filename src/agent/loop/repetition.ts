import { isFromPerson, type Message, toolCalls } from "../messages.ts";

/** Equal steps in a row after which the model gets a hint, and after which the turn ends. */
export const equalSteps = { hint: 3, end: 6 };

/**
 * How many of the last steps made the same calls with the same results. A call that fails again counts as the
 * same whatever the error's words are: they may hold a time or a trace id.
 */
export function countRepeatedSteps(messages: readonly Message[]): number {
  let count = 0;
  let newest = "";
  let results: string[] = [];
  // Backwards by index: a copy of a long conversation, made each step, would be most of the step's cost.
  for (let at = messages.length - 1; at >= 0; at -= 1) {
    const message = messages[at];
    if (!message) break;
    switch (message.role) {
      case "tool":
        results.push(message.status === "error" ? "error" : message.text);
        break;
      case "assistant": {
        const calls = toolCalls(message).map(({ name, input, malformed }) => [name, malformed ?? input]);
        const step = JSON.stringify([calls, results]);
        if (calls.length === 0 || (count > 0 && step !== newest)) return count;
        newest = step;
        results = [];
        count += 1;
        break;
      }
      case "user":
        // What a person says may be the reason to do the same again.
        if (isFromPerson(message)) return count;
        break;
      case "summary":
        return count;
    }
  }
  return count;
}
