import { isUndecided, type OpenTurn } from "../../agent/journal/history.ts";
import type { JournalRecord } from "../../agent/journal/journal.ts";
import { isFromPerson } from "../../agent/messages.ts";
import { nameEnding } from "../../agent/silence.ts";
import { markNotified, setNotified } from "../session/mailbox/cancelled-messages.ts";
import { closeContinueOffer } from "../session/continue-offer.ts";
import { touchSession } from "../session/expiry.ts";
import type { Change } from "../session/lease.ts";
import { abandonQuestions, collectDecisions, mergeChanges } from "../session/questions/open-questions.ts";
import { readHeadNumber, readMessageRef } from "../session/stored.ts";
import { readListedAt } from "../session/lists/sweep-list.ts";
import { readVerbosity } from "../session/choices/verbosity.ts";
import { fetchMentionChoices } from "../stores/mention-choices.ts";
import { type CurrentTurn, type HeldSession, readHistory } from "./claimed-session.ts";
import type { Receipt, TurnDisplay } from "./contracts.ts";
import { endsBy, writeLost } from "./lost-holders.ts";
import { followPausedMarks } from "./paused-marks.ts";
import { serializeEntries } from "./stop-notice.ts";
import { hadItsEnd } from "./stops.ts";

/** The phases of a turn that need no agent, so that a turn which nobody runs can be ended by whoever hears of its stop. */

export function openDisplay(
  { lease, options }: HeldSession,
  { id, startedAt, calls, waitedMs, waitingSince }: OpenTurn,
  resumed: boolean,
  head: Readonly<Record<string, string>>,
): TurnDisplay {
  return options.display(lease, {
    ...{ id, startedAt, resumed, calls, waited: waitedMs > 0 || waitingSince !== undefined },
    progress: readMessageRef(options.redis, lease.thread, "progress", head["progress"]),
    verbosity: readVerbosity(head["verbosity"]),
  });
}

/** Puts on record what people have decided, and that their time is over. */
export async function recordDecisions(session: HeldSession, current: CurrentTurn): Promise<void> {
  const { lease, options } = session;
  const { open } = current.history;
  // Before it is looked: a later decision lists the thread anew.
  if (open.some(isUndecided)) session.listedSince ??= await readListedAt(options.redis, lease.thread);
  const { settled } = current.display;
  const news = await collectDecisions(options.redis, lease.thread, open, settled, options.now());
  if (news.records.length === 0) return;
  await lease.append(news.records, news.change);
  current.history = readHistory(session);
  current.turn = current.history.turn ?? current.turn;
  await session.flush(Promise.resolve(true));
}

/** Shows that the turn works, and that the one before it can be gone on with no more. */
export async function announceTurn(
  session: HeldSession,
  { turn, head, display }: CurrentTurn,
): Promise<void> {
  const offer = closeContinueOffer(head, session.journal.lastEnd, (paused) =>
    display.continued(paused, turn.asked[0]?.author.name ?? "somebody"),
  );
  if (offer) {
    await session.lease.append([], { outbox: serializeEntries(offer) });
    await session.flush(Promise.resolve(true));
  }
  display.took(turn.asked);
}

/** Stores how the turn has ended, and then tells the thread. */
export async function finishTurn(
  session: HeldSession,
  { turn, history, head, display }: CurrentTurn,
  ended: Receipt,
): Promise<void> {
  const { lease, options, cancelled, flush } = session;
  const mentionChoices = await fetchMentionChoices(options.redis, lease.thread, turn.asked);
  const receipt: Receipt = { ...ended, mentionChoices };
  const now = options.now();
  // Who was told that their end is not known is told when it is.
  const told = session.told.filter((lost) => endsBy(lost) !== undefined);
  for (const lost of told) lost.told = true;
  const records: JournalRecord[] = [{ type: "turn-end", turn: turn.id, outcome: receipt.outcome, at: now }];
  // A stop ends only what is older: for what it has come too late for, a new turn begins with the same write.
  const newer = turn.asked.filter((message) => isFromPerson(message) && !hadItsEnd(message, receipt.outcome));
  if (newer.length > 0) {
    records.push({ type: "turn-start", turn: options.newId(), at: now });
    records.push(...newer.map((message) => ({ type: "user", message }) as const));
  }
  const closing = display.closing(receipt);
  const paused = followPausedMarks(options.redis, lease.thread, head, { turn: turn.id, closing });
  const end: Change = {
    fields: {
      ...paused.fields,
      status: newer.length > 0 ? "running" : "idle",
      unsaid: "",
      // It has spoken: what is written there without a mention is for the agent too from now on.
      ...(nameEnding(receipt.outcome) === "answered" && head["listening"] && { listening: "" }),
      cost: String(
        readHeadNumber(options.redis, lease.thread, "cost", head["cost"]) + receipt.outcome.usage.cost,
      ),
      turnCost: "",
      ...markNotified(cancelled),
      ...Object.assign({}, ...told.map(writeLost)),
    },
    outbox: serializeEntries({ ...paused.outbox, ...closing }),
  };
  await lease.append(records, mergeChanges([abandonQuestions(history.open, display.settled), end]));
  setNotified(cancelled);
  await flush(display.close());
  display.ended(receipt);
  await touchSession(options.redis, lease.thread, options.expireSeconds);
}
