import type { Redis } from "ioredis";
import type { ThreadId } from "../adapters/adapter.ts";
import type { TurnOutcome } from "../agent/events.ts";
import type { JournalRecord } from "../agent/journal.ts";
import { keys } from "./keys.ts";

/** A turn that a limit has ended, and that can be gone on with. */
export interface PausedTurn {
  turn: string;
  outcome: Extract<TurnOutcome, { kind: "step-limit" | "budget" }>;
}

const prefix = "continue:";

/** The id of the button that goes on with a paused turn. */
export function continueAction(turn: string): string {
  return `${prefix}${turn}`;
}

/** The turn that such a button goes on with; undefined for another button. */
export function turnToContinue(action: string): string | undefined {
  return action.startsWith(prefix) ? action.slice(prefix.length) : undefined;
}

/** The thread's last turn, if a limit has ended it and nothing has happened since. */
export async function pausedTurn(redis: Redis, thread: ThreadId): Promise<PausedTurn | undefined> {
  const generation = Number((await redis.hget(keys.head(thread), "generation")) ?? 0);
  const last = await redis.lindex(keys.log(thread, generation), -1);
  if (last === null) return undefined;
  const record = JSON.parse(last) as JournalRecord;
  if (record.type !== "turn-end") return undefined;
  const { turn, outcome } = record;
  return outcome.kind === "step-limit" || outcome.kind === "budget" ? { turn, outcome } : undefined;
}
