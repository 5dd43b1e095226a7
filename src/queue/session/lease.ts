import type { StopOrder } from "../../agent/events.ts";
import type { JournalRecord } from "../../agent/journal/journal.ts";
import type { UserMessage } from "../../agent/messages.ts";
import type { ThreadId } from "../../chat/threads.ts";
import type { Claim } from "../../sandbox/sandbox.ts";
import type { FoundJournal } from "./journal/snapshot.ts";

/** Thrown by every write of a worker whose session another worker has claimed. It must end silently. */
export class LeaseLost extends Error {
  override readonly name = "LeaseLost";
}

/** Fields of a session's head that the holder of the lease may set; "" removes one. */
export interface HeadFields {
  status?: "running" | "idle";
  /** `1`: handed over on purpose, so the next claim is no sign of a crash. */
  handover?: "0" | "1";
  /** JSON of the progress message of the running turn, so that whoever resumes it goes on editing it. */
  progress?: string;
  /** How many of the session's withdrawn messages the thread was told of. */
  told?: string;
  /** How many messages and stops the thread has had: each gets its number. Scripts alone set it. */
  seq?: string;
  /** `1`: the platform did not take the last turn's message, so that only the journal has it for sure. */
  unsaid?: string;
  /** `1`: the agent has only listened there so far; see deliver.lua, which sets it. */
  listening?: string;
  /** JSON of the messages that are shown as paused by a limit, see paused-marks.ts. */
  paused?: string;
  /** What the turns that have ended cost together, US dollars. */
  cost?: string;
  /** What the turn that is open has cost so far, as its journal had it at the latest write. */
  turnCost?: string;
  /** See undo/stored.ts. */
  undo?: string;
  undone?: string;
  redo?: string;
  restoring?: string;
  /** How many threads go on from it; see undo/fork.ts. */
  forks?: string;
  /** By id; see open-questions.ts, and for `lost` and `ended` turns/lost-holders.ts. */
  [
    question:
      | `lost:${string}`
      | `ended:${string}`
      | `question:${string}`
      | `decision:${string}`
      | `asked:${string}`
  ]: string;
}

export interface Change {
  fields?: HeadFields;
  /** Posting key to JSON; null removes the entry. */
  outbox?: Readonly<Record<string, string | null>>;
  /** Posting key to JSON of entries that are done: removed unless the key has another entry by now. */
  done?: Readonly<Record<string, string>>;
}

/** What has left the mailbox, and the newest stop order. */
export interface Dequeued {
  taken: UserMessage[];
  withdrawn: UserMessage[];
  stop: StopOrder | undefined;
}

/** A message of pub/sub that tells whoever looks on; nothing depends on it. */
export interface Hint {
  channel: string;
  message: string;
}

/** The session as its claim has found it. */
export interface FoundSession {
  head: Record<string, string>;
  outbox: Record<string, string>;
  stop: StopOrder | undefined;
  journal: FoundJournal;
}

/** The right to write to one session, until somebody else claims it. */
export interface SessionLease {
  readonly thread: ThreadId;
  /** Which claim it is, for what must not act on an older one. */
  readonly claim: Claim;
  /** Claims in a row, this one included, without a new record in between. */
  readonly claimsWithoutProgress: number;
  readonly found: FoundSession;
  /** What this claim has written to the journal since it was last asked. `chars`: the size as it is stored. */
  written(): { records: JournalRecord[]; chars: number };
  head(): Promise<Record<string, string>>;
  /** Whether nobody else has claimed the session. */
  holds(): Promise<boolean>;
  /** The same, and says so to whoever would take the session over: see `tryClaimSession`. */
  confirm(): Promise<boolean>;
  /** Appends atomically. A turn that begins with it works on the messages behind its start alone. @throws LeaseLost */
  append(records: readonly JournalRecord[], change?: Change): Promise<void>;
  /**
   * Moves what waits into the journal, behind the records of `before`; `start` is written first if any message is taken.
   * Where much waits, the rest stays for the next time.
   * `withdrawn` are the messages that a stop order has overtaken. @throws LeaseLost
   */
  take(start?: JournalRecord, before?: readonly JournalRecord[]): Promise<Dequeued>;
  /** Only withdraws what a stop order has overtaken; the rest stays in the mailbox. @throws LeaseLost */
  withdraw(): Promise<UserMessage[]>;
  /**
   * Puts a snapshot of the journal as it stands in the place of the one before; see snapshot.ts. @throws LeaseLost
   *
   * @param pieces the lines of a snapshot of so long a journal; asked for one after the other
   * @param alongside fields of the head, set with the same write
   * @returns how long the journal is; undefined when the snapshot does not fit it and was dropped
   */
  keepSnapshot(
    pieces: (position: number) => AsyncIterable<readonly string[]>,
    alongside?: HeadFields,
  ): Promise<number | undefined>;
  /** With each later write `drain` is asked for hints, which are published by the same command. */
  carryHints(drain: () => readonly Hint[]): void;
}
