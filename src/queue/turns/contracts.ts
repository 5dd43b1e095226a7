import type { Redis } from "ioredis";
import type { AgentEvent, TurnOutcome } from "../../agent/events.ts";
import type { History, MessageExtrasRecord, OpenTurn } from "../../agent/journal/history.ts";
import type { ToolCall, UserMessage } from "../../agent/messages.ts";
import type { Question } from "../../agent/questions.ts";
import type { OutboundMessage } from "../../chat/outbound.ts";
import type { MessageRef, ThreadId } from "../../chat/threads.ts";
import type { Claim, FileChanges, HostProcesses, KillReport } from "../../sandbox/sandbox.ts";
import type { OutboxEntry } from "../outbox/contracts.ts";
import type { PausedTurn } from "../session/continue-offer.ts";
import type { SessionLease } from "../session/lease.ts";
import type { RenderDecision } from "../session/questions/open-questions.ts";
import type { ThreadModel } from "../session/choices/thread-model.ts";
import type { Verbosity } from "../session/choices/verbosity.ts";
import type { MentionChoice } from "../stores/mention-choices.ts";
import type { UndoDeps } from "../undo/contracts.ts";
import type { BackgroundJobs } from "./background-jobs.ts";
import type { Contact } from "./contact.ts";
import type { CatchUpHold } from "./hold-for-catch-up.ts";
import type { SessionHolder, Unproven } from "./lost-holders.ts";
import type { StopWatch } from "./stops.ts";

/** The contracts between the session that holds a turn, the runner that runs it and whoever shows it. */

/** Runs the agent for one turn. The rest of the queue does not know how. */
export interface TurnRunner {
  run(input: {
    thread: ThreadId;
    turn: string;
    /** Nothing may be started for the thread once somebody has a newer one. */
    claim: Claim;
    history: History;
    /** What people have chosen for the thread, if they have. */
    chosen: ThreadModel & { skill?: string };
    /** Whether people have approved these rules, by their ids, for the whole thread. */
    areApproved(rules: readonly string[]): Promise<boolean>;
    followUps(): Promise<UserMessage[]>;
    /**
     * Stores what came with a message, once it was looked at, and with it the events that wait for another write: to be
     * called without a record before anything that takes its time behind the last event.
     */
    store(record?: MessageExtrasRecord): Promise<void>;
    /** For events from outside the loop, such as live output. A helper's call begins when this has resolved. */
    emit(event: AgentEvent): void | Promise<void>;
    signal: AbortSignal;
  }): AsyncGenerator<AgentEvent, TurnOutcome>;
  /** Ends every process of the thread, background jobs too, and counts what is left. */
  killAll(thread: ThreadId): Promise<KillReport>;
  /** Resolves when the last background job of the thread in this process has ended; undefined when none runs. */
  jobsLeft(thread: ThreadId): Promise<unknown> | undefined;
  /** What the thread's turn has done to the files of the workspace since `since` (ms). */
  fileChanges(thread: ThreadId, since: number): Promise<TurnChanges>;
  /** Drops what it knows of the thread's turn for `fileChanges`: nobody asks for them any more. */
  forgetTurn(thread: ThreadId): void;
}

/** What a turn has done to files, as its receipt tells it. */
export interface TurnChanges extends FileChanges {
  /** Those of them that the plan which people approved does not name. */
  unplanned?: string[];
}

export const noChanges: FileChanges = { changed: [], deleted: [] };

/** The facts about a turn's end, from the journal and the machine, never from what the model claims. */
export interface Receipt {
  outcome: TurnOutcome;
  /** The waiting for people left out. */
  durationMs: number;
  /** Absent where nobody could look. */
  files?: TurnChanges;
  /** Present when something was killed on a stop. */
  killed?: KillReport;
  /** From the order, wherever it was heard, to the last process gone, ms. */
  stopMs?: number;
  /** Calls that ended with the worker that ran them, before the stop could reach them. */
  cutOff?: number;
  /** What may still run where nobody can look: not seen to end, and not ended by a clock yet. */
  unproven?: Unproven[];
  /** Queued messages that the stop overtook. */
  withdrawn: UserMessage[];
  /** What people who asked have chosen, by their ids. */
  mentionChoices?: ReadonlyMap<string, MentionChoice>;
}

/** Shows one turn in its thread. Its methods do not throw; what must not be lost goes through the outbox. */
export interface TurnDisplay {
  /** The messages that this turn works on; again for those that come later. */
  took(messages: readonly UserMessage[]): void;
  event(event: AgentEvent): void;
  /** The message that puts the question to people, with its buttons. */
  question(question: Question, call: ToolCall): OutboundMessage;
  /** What that message says in the end. */
  settled: RenderDecision;
  /** What the message says in the end that has offered to go on. */
  continued(paused: PausedTurn, by: string): OutboundMessage;
  /** What must be in the thread while the turn waits for people. */
  waiting(): Record<string, OutboxEntry>;
  /** What must be in the thread when the turn is over: the last message, the progress message's end, the marks. */
  closing(receipt: Receipt): Record<string, OutboxEntry>;
  /** Shows that the turn is left to another worker; resolves soon, whether the platform has taken it or not. */
  interrupted(): Promise<void>;
  /** Shows nothing more; resolves when nothing is under way. See `OutboxOptions.progressQuiet`. */
  close(): Promise<boolean>;
  /** Tells those who look on at this moment. */
  ended(receipt: Receipt): void;
}

/** What a display must know about its turn. */
export interface ShownTurn {
  id: string;
  /** Milliseconds since the epoch. */
  startedAt: number;
  /** Another worker began it, and may have shown something. */
  resumed: boolean;
  /** It has waited for people, and was shown so. */
  waited?: boolean;
  /** The progress message, if one is known. */
  progress: MessageRef | undefined;
  /** What it has done so far. */
  calls: OpenTurn["calls"];
  /** What people of the thread have asked for, if they have. */
  verbosity?: Verbosity | undefined;
}

export interface SessionRunnerOptions {
  redis: Redis;
  stops: StopWatch;
  /** Keeps turns from going on before stops that nobody has heard yet were looked for. */
  catchUpHold: CatchUpHold;
  background: BackgroundJobs;
  /** Absent where nothing can be undone. */
  undo?: UndoDeps | undefined;
  runner: TurnRunner;
  /** Ends what earlier holders of a session have left running on this host. */
  processes: HostProcesses;
  /** Who claims sessions here. */
  holder: SessionHolder;
  /** How often it is asked whether a session is still held, ms. */
  confirmMs: number;
  contact: Pick<Contact, "isSteady">;
  /** Lets a thread be told what its head says. */
  wake(thread: ThreadId): Promise<void>;
  display(lease: SessionLease, turn: ShownTurn): TurnDisplay;
  /** Does what the outbox holds for the thread. @param quiet see `OutboxOptions` */
  flushOutbox(
    lease: SessionLease,
    signal: AbortSignal,
    quiet: Promise<boolean>,
  ): Promise<{ rest: Promise<void>; retryAt?: number }>;
  expireSeconds: number;
  now(): number;
  newId(): string;
}
