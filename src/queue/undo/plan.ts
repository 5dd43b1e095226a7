import type { Redis } from "ioredis";
import type { ThreadId } from "../../chat/threads.ts";
import type { Checkpoints, FileDifference } from "../../sandbox/checkpoints.ts";
import type { HeldSession } from "../turns/claimed-session.ts";
import { findFiles } from "./find-files.ts";
import { findLastTurns, type PastTurn } from "./find-turns.ts";
import { describeTurn } from "./messages.ts";
import type { Span } from "./spans.ts";
import { readUndone, type UndoOrder, type UndoPlan } from "./stored.ts";

/** As many of the last turns can be undone at once as `!undo` takes. */
const mostTurns = 99;

/** So many times turns can be undone in a thread: each leaves a span to be passed over. */
const mostSpans = 200;

/** `difference`: absent where the turns have written no files. `isKept`: the files as they are, so that it can be taken back. */
export interface Planned {
  plan: UndoPlan;
  turns: PastTurn[];
  difference: FileDifference | undefined;
  isKept: boolean;
}

/** What is to be undone, or a sentence why nothing can be. */
export async function planUndo(
  { lease: { thread, found }, options }: HeldSession,
  order: UndoOrder,
  checkpoints: Checkpoints,
): Promise<Planned | string> {
  const { length } = found.journal;
  const undone = readUndone(options.redis, thread, found.head);
  const turns = await findTurns(options.redis, thread, { length, undone }, order);
  const oldest = turns.at(-1);
  if (!oldest)
    return order.turn === undefined
      ? "There is nothing to undo in this thread."
      : "That turn was undone already, or is too far back.";
  if (undone.length >= mostSpans) return "Nothing more can be undone in this thread: begin a new one.";
  const files = await findFiles(checkpoints, thread, turns);
  if ("why" in files)
    return `I cannot undo this, since files and conversation go back together: ${files.why}.`;
  const plan: UndoPlan = {
    ...{ length, from: oldest.from, turns: turns.map(({ id }) => id), about: describeTurn(oldest) },
    askers: listAskers(turns),
  };
  if (files.name === undefined) return { plan, turns, difference: undefined, isKept: true };
  const present = `undo-${order.id}`;
  const kept = await checkpoints.keep(thread, present, files.name);
  const difference = await checkpoints.compare(thread, present, files.name);
  if (!difference)
    return `I cannot undo this, as I cannot tell what it would change: ${kept.lost ?? "the lists of files are gone"}.`;
  return {
    plan: { ...plan, files: files.name, present },
    ...{ turns, difference, isKept: kept.lost === undefined },
  };
}

/** The turns that the order is about, the newest first; none where it names one that there is no more. */
async function findTurns(
  redis: Redis,
  thread: ThreadId,
  journal: { length: number; undone: readonly Span[] },
  { turns: most, turn }: UndoOrder,
): Promise<PastTurn[]> {
  if (turn === undefined) return findLastTurns(redis, thread, { ...journal, most });
  const last = await findLastTurns(redis, thread, { ...journal, most: mostTurns });
  return last.slice(0, last.findIndex(({ id }) => id === turn) + 1);
}

/** Ids of those who have asked for each of them. */
function listAskers(turns: readonly PastTurn[]): string[] {
  const [first = [], ...others] = turns.map(({ asked }) => [
    ...new Set(asked.map(({ author }) => author.id)),
  ]);
  return first.filter((id) => others.every((ids) => ids.includes(id)));
}
