import { type InstantModel, lastWord } from "../instant-model.ts";
import type { Running } from "./start.ts";

export const stepsInTurn = 20;

/** Runs one turn and returns the times between its requests, ms. @throws Error where it did not do all its steps */
export async function measuredTurn(
  service: InstantModel,
  candidate: Running,
  history: number,
): Promise<number[]> {
  const { times } = service.expect(stepsInTurn);
  const answer = await candidate.turn(history);
  if (answer.trim() !== lastWord || times.length !== stepsInTurn) {
    throw new Error(
      `A turn made ${times.length} requests instead of ${stepsInTurn} and ended in "${answer}".`,
    );
  }
  return times.slice(1).map((time, index) => time - (times[index] ?? time));
}
