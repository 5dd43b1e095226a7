import type { Redis } from "ioredis";
import type { TurnOutcome } from "../../agent/events.ts";
import type { JournalRecord } from "../../agent/journal/journal.ts";
import type { OutboundMessage } from "../../chat/outbound.ts";
import type { ThreadId } from "../../chat/threads.ts";
import type { OutboxEntry } from "../outbox/contracts.ts";
import { keys } from "../redis/keys.ts";
import { readUndone } from "../undo/stored.ts";
import { readLastRecord } from "./journal/journal.ts";
import type { TurnEnd } from "./journal/snapshot.ts";
import { postedField } from "./questions/open-questions.ts";

/** A turn that a limit has ended, and that can be gone on with. */
export interface PausedTurn {
  turn: string;
  outcome: Extract<TurnOutcome, { kind: "step-limit" | "budget" }>;
}

const prefix = "continue:";

/** The id of the button that goes on with a paused turn. */
export function continueActionId(turn: string): string {
  return `${prefix}${turn}`;
}

/** The turn that such a button goes on with; undefined for another button. */
export function readContinueAction(action: string): string | undefined {
  return action.startsWith(prefix) ? action.slice(prefix.length) : undefined;
}

/** The thread's last turn, if a limit has ended it and nothing has happened since. */
export async function readPausedTurn(redis: Redis, thread: ThreadId): Promise<PausedTurn | undefined> {
  const paused = findPausedTurn(await readLastRecord(redis, thread));
  return paused && !(await isLastUndone(redis, thread)) ? paused : undefined;
}

async function isLastUndone(redis: Redis, thread: ThreadId): Promise<boolean> {
  const [length, undone] = await Promise.all([
    redis.llen(keys.log(thread)),
    redis.hget(keys.head(thread), "undone"),
  ]);
  return readUndone(redis, thread, { undone }).some(({ to }) => to === length);
}

/** What becomes of the message with the button when the next turn has begun, if the head knows it. */
export function closeContinueOffer(
  head: Readonly<Record<string, string>>,
  lastEnd: TurnEnd | undefined,
  show: (last: PausedTurn) => OutboundMessage,
): Record<string, OutboxEntry> | undefined {
  const last = findPausedTurn(lastEnd);
  if (!last || !head[postedField(last.turn)]) return undefined;
  return { [`${last.turn}:continued`]: { do: "edit", field: postedField(last.turn), message: show(last) } };
}

/** The turn that ends with this record, if a limit has ended it. */
function findPausedTurn(record: JournalRecord | undefined): PausedTurn | undefined {
  if (record?.type !== "turn-end") return undefined;
  const { turn, outcome } = record;
  return outcome.kind === "step-limit" || outcome.kind === "budget" ? { turn, outcome } : undefined;
}
