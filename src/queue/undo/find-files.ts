import type { ThreadId } from "../../chat/threads.ts";
import type { Checkpoints } from "../../sandbox/checkpoints.ts";
import type { PastTurn } from "./find-turns.ts";
import { describeTurn } from "./messages.ts";
import { mayWriteFiles } from "./remaining-effects.ts";

/** The checkpoint of before these turns; no name where they have written nothing. */
export async function findFiles(
  checkpoints: Checkpoints,
  thread: ThreadId,
  turns: readonly PastTurn[],
): Promise<{ name: string | undefined } | { why: string }> {
  for (const turn of turns.toReversed()) {
    const kept = await checkpoints.find(thread, turn.id);
    if (kept?.lost !== undefined) return { why: kept.lost };
    if (kept) return { name: turn.id };
    // It has run on another host, or before files were kept.
    if (turn.calls.some(({ name }) => mayWriteFiles(name)))
      return { why: `the files as they were before “${describeTurn(turn)}” are not kept` };
  }
  return { name: undefined };
}
