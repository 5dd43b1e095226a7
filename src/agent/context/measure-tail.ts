import { isFromPerson, type Message } from "../messages.ts";

/** Where the last `steps` steps begin, or as many as there are. */
export function findStepStart(messages: readonly Message[], steps: number): number {
  let start = messages.length;
  let left = steps;
  for (let at = messages.length - 1; at >= 0 && left > 0; at -= 1) {
    if (messages[at]?.role !== "assistant") continue;
    start = at;
    left -= 1;
  }
  return start;
}

/**
 * How many messages stay verbatim: as many of the last rounds as `fits` allows, else the last steps. It never
 * starts with a tool's result, whose call would be lost.
 */
export function measureTail(
  messages: readonly Message[],
  { retainRounds, retainSteps }: { retainRounds: number; retainSteps: number },
  fits: (tail: readonly Message[]) => boolean,
): number {
  // What is not answered yet stays whole, however large.
  const asked = messages.findLastIndex(isFromPerson);
  const unanswered = asked >= 0 && messages.slice(asked).every(({ role }) => role === "user");
  const steps = findStepStart(messages, retainSteps);
  let best = messages.length - (unanswered ? Math.min(asked, steps) : steps);
  let rounds = 0;
  for (let at = messages.length - 1; at > 0 && rounds < retainRounds; at -= 1) {
    const message = messages[at];
    if (!message || !isFromPerson(message)) continue;
    const tail = messages.slice(at);
    if (!fits(tail)) break;
    rounds += 1;
    best = Math.max(best, tail.length);
  }
  return best;
}

/** How many steps a conversation has since a model last wrote a summary of it; infinite where none has. */
export function countStepsSinceSummary(messages: readonly Message[]): number {
  const [first] = messages;
  if (first?.role !== "summary" || first.stepsBefore === undefined) return Infinity;
  return first.stepsBefore + countSteps(messages);
}

export function countSteps(messages: readonly Message[]): number {
  return messages.reduce((steps, { role }) => (role === "assistant" ? steps + 1 : steps), 0);
}
