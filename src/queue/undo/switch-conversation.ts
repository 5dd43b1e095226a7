import { charsOf } from "../session/journal/journal.ts";
import type { HeadFields } from "../session/lease.ts";
import { loadWithoutSnapshot } from "../session/journal/load-journal.ts";
import { serializeSnapshot } from "../session/journal/snapshot.ts";
import type { HeldSession } from "../turns/claimed-session.ts";
import type { Span } from "./spans.ts";

/** Lets every later claim begin with the conversation outside of these spans. False when nothing was changed. */
export async function switchConversation(
  session: HeldSession,
  spans: readonly Span[],
  fields: HeadFields,
): Promise<boolean> {
  const { lease, options, cancelled, journal } = session;
  const { length } = lease.found.journal;
  const target = await loadWithoutSnapshot(options.redis, lease.thread, length, spans);
  const { messages, chosenModel, turn } = target.replay.history();
  if (turn || target.hasGap) return false;
  const { lastEnd } = target;
  const withdrawn = cancelled.before + cancelled.messages.length;
  let chars = 0;
  const kept = await lease.keepSnapshot(async function* (position) {
    for await (const lines of serializeSnapshot({ position, messages, chosenModel, withdrawn, lastEnd })) {
      chars += charsOf(lines);
      yield lines;
    }
  }, fields);
  if (kept === undefined) return false;
  Object.assign(journal, {
    ...{ replay: target.replay, lastEnd, tail: { records: 0, chars: 0 }, snapshotChars: chars },
    ...{ hasGap: false, wasSurveyed: false },
  });
  return true;
}
