import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { Redis } from "ioredis";
import type { Question } from "../../agent/questions.ts";
import type { ChatSurface } from "../../chat/surface.ts";
import { parseThreadId, type ThreadId, type ThreadRef } from "../../chat/threads.ts";
import { createReporter, progressKey } from "../../progress/reporter.ts";
import { showBehind } from "../../progress/show-behind.ts";
import { flushOutbox, readSettledSince } from "../../queue/outbox/flush.ts";
import { createLivePublisher } from "../../queue/outbox/live-events.ts";
import { markMessage } from "../../queue/outbox/message-marks.ts";
import type { RateLimiter } from "../../queue/outbox/rate-limit.ts";
import type { SessionLease } from "../../queue/session/lease.ts";
import { rememberMessages } from "../../queue/session/mailbox/message-threads.ts";
import { enqueueForSweep } from "../../queue/session/lists/sweep-list.ts";
import type { Verbosity } from "../../queue/session/choices/verbosity.ts";
import { createBackgroundJobs } from "../../queue/turns/background-jobs.ts";
import type {
  SessionRunnerOptions,
  ShownTurn,
  TurnDisplay,
  TurnRunner,
} from "../../queue/turns/contracts.ts";
import { watchContact } from "../../queue/turns/contact.ts";
import { createCatchUpHold } from "../../queue/turns/hold-for-catch-up.ts";
import { createSessionRunner } from "../../queue/turns/run-session.ts";
import { createEndUnheldThread, type EndUnheldThread } from "../../queue/turns/end-unheld-thread.ts";
import { watchStops } from "../../queue/turns/stops.ts";
import type { UndoDeps } from "../../queue/undo/contracts.ts";
import type { SessionRunner } from "../../queue/turns/turn-worker.ts";
import { type HostProcesses, noProcesses } from "../../sandbox/sandbox.ts";
import { defaultFence, type FenceTimes } from "../../sandbox/running/fence.ts";
import type { Observer } from "../../telemetry/observer.ts";

/** What it takes to show turns. */
export interface TurnOutputDeps {
  redis: Redis;
  /** Where a platform's threads are written to. */
  surface(platform: string): ChatSurface;
  output: RateLimiter;
  /** How much of its turns a thread's channel shows, unless its people have chosen. Default: `normal`. */
  verbosity?(thread: ThreadId): Verbosity | undefined;
  /** Stands above everything that a turn shows. */
  banner?: string;
  /** Whether people can say what they think of an answer. Default: they cannot. */
  asksRating?: boolean;
  /** Whether turns that have changed files offer to undo it. Default: they do not. */
  offersUndo?: boolean;
  /** Ids of the people whom a question calls. Default: the person whose task it is. */
  deciders?(thread: ThreadRef, question: Question): readonly string[];
  /** Whether the end of a turn may call that person. Default: it may call everybody who asked. */
  mayMention?(thread: ThreadRef, person: string): boolean;
  /** Hides secrets in everything that is shown. Default: shows the text as it is. */
  mask?(text: string): string;
  /** Wraps what it wants to see. */
  observe?: Pick<Observer, "runner" | "display">;
  /** Something that people see could not be shown; the turn goes on. */
  onProblem(problem: string, error: unknown, where: { thread: ThreadId; turn?: string }): void;
  onError(error: unknown): void;
}

export interface TurnEngineDeps extends TurnOutputDeps {
  /** A connection of its own, for stop orders; closed with the engine. */
  subscriber: Redis;
  /** Runs the agent for one turn. */
  runner: TurnRunner;
  /** Default: nothing can be undone. */
  undo?: UndoDeps;
  /** What this host runs for threads. Default: nothing that anybody else could have started. */
  processes?: HostProcesses;
  /** How often it is asked whether a session is still held, ms. Default 5,000. */
  confirmMs?: number;
  /** After which this host ends what it runs without an answer to that. Default: as the sandbox's. */
  fence?: FenceTimes;
  /** How long a session is kept after its last turn. */
  expireSeconds: number;
  /** How long a turn that goes on waits for a gateway, see `CatchUpHold`. Default 5,000 ms. */
  catchUpMs?: number;
  /** How long a stop waits for the background jobs of other workers, ms. */
  answerMs?: number;
  /** Wakes a thread that is to be told something. Default: the sweeper does. */
  wake?(thread: ThreadId): Promise<void>;
}

export interface TurnEngine {
  /** Drives one thread until its mailbox is empty. See `SessionRunner`. */
  runSession: SessionRunner;
  /** For a thread that waits for a slot. See `EndUnheldThread`. */
  endUnheldThread: EndUnheldThread;
  /** To be called when no session runs any more. */
  close(): Promise<void>;
}

/**
 * Puts together everything that a turn needs besides the agent: session runner, stop orders, background jobs, the
 * reporter, outbox and marks. The worker, the benchmark and the tests all use it, so that what is measured and tested is
 * what runs in production.
 *
 * @example
 * const engine = await createTurnEngine({
 *   redis,
 *   subscriber: server.connect(),
 *   runner,
 *   surface: () => slack,
 *   output: createRateLimiter(redis),
 *   expireSeconds: 90 * 86_400,
 *   onProblem: (problem, error, where) => log.warn({ err: error, ...where }, problem),
 *   onError: (error) => log.error(error),
 * });
 * await engine.runSession("slack:T1:C1:1712.5", signal); // "done": its mailbox is empty
 */
export async function createTurnEngine(deps: TurnEngineDeps): Promise<TurnEngine> {
  const { redis, onError, observe = {}, expireSeconds } = deps;
  const stops = await watchStops(redis, deps.subscriber, onError);
  const runner = observe.runner?.(deps.runner) ?? deps.runner;
  const processes = deps.processes ?? noProcesses;
  const { confirmMs = 5_000 } = deps;
  const { turnMs, jobMs } = deps.fence ?? defaultFence;
  const id = randomUUID();
  const holder = {
    id,
    name: `${hostname()}:${process.pid}`,
    place: processes.place(),
    fenceSeconds: turnMs / 1_000,
  };
  const wake = async (thread: ThreadId) => {
    await enqueueForSweep(redis, thread, Date.now());
    await deps.wake?.(thread);
  };
  const contact = watchContact(redis, confirmMs * 1.5);
  const background = createBackgroundJobs({
    ...{ redis, stops, runner, wake, onError },
    ...{ processes, confirmMs },
    worker: { ...holder, fenceSeconds: jobMs / 1_000 },
    ...(deps.answerMs !== undefined && { answerMs: deps.answerMs }),
  });
  const shared = { redis, background, expireSeconds, ...createTurnOutput(deps) };
  const catchUpHold = createCatchUpHold(redis, deps.catchUpMs);
  return {
    runSession: createSessionRunner({
      ...shared,
      stops,
      runner,
      wake,
      catchUpHold,
      processes,
      holder,
      contact,
      confirmMs,
      undo: deps.undo,
    }),
    endUnheldThread: createEndUnheldThread(shared),
    async close() {
      contact.close();
      await stops.close();
    },
  };
}

/** How turns are shown, in whatever process something is to be told of them. */
export function createTurnOutput(
  deps: TurnOutputDeps,
): Pick<SessionRunnerOptions, "now" | "newId" | "display" | "flushOutbox"> {
  const { redis, output, surface, observe = {} } = deps;
  return {
    now: Date.now,
    newId: () => randomUUID().slice(0, 8),
    display(lease, turn) {
      const reporter = openReporter(deps, lease, turn);
      return observe.display?.(reporter, lease.thread, turn) ?? reporter;
    },
    flushOutbox: (lease, signal, progressQuiet) =>
      flushOutbox(lease, {
        ...{ redis, output, signal, progressQuiet, now: Date.now },
        surface: surface(parseThreadId(lease.thread).platform),
        onProblem: (problem, error) => deps.onProblem(problem, error, { thread: lease.thread }),
      }),
  };
}

/** Shows a turn in its thread. */
function openReporter(deps: TurnOutputDeps, lease: SessionLease, turn: ShownTurn): TurnDisplay {
  const { redis, output, surface, onError } = deps;
  const { thread } = lease;
  const onProblem = (problem: string, error: unknown) =>
    deps.onProblem(problem, error, { thread, turn: turn.id });
  const reporter = createReporter({
    ...{ output, thread, turn, onProblem },
    surface: surface(parseThreadId(thread).platform),
    verbosity: turn.verbosity ?? deps.verbosity?.(thread) ?? "normal",
    ...(deps.banner !== undefined && { banner: deps.banner }),
    ...(deps.asksRating !== undefined && { asksRating: deps.asksRating }),
    ...(deps.offersUndo !== undefined && { offersUndo: deps.offersUndo }),
    async onProgressPosted(ref) {
      await lease.append([], { fields: { progress: JSON.stringify(ref) } });
      await rememberMessages(redis, thread, [ref]);
    },
    overtaken: () => readSettledSince(redis, lease, progressKey(turn.id)),
    mark: (ref, mark, signal) =>
      markMessage({ redis, output, surface: surface(ref.platform) }, ref, mark, signal, {
        isNew: !turn.resumed,
        ...(turn.waited && { paused: false }),
      }),
    publish: createLivePublisher(redis, thread, onError, lease),
    deciders: (question) => deps.deciders?.(parseThreadId(thread), question) ?? [question.requester.id],
    mayMention: (person) => deps.mayMention?.(parseThreadId(thread), person) ?? true,
    mask: (text) => deps.mask?.(text) ?? text,
  });
  return showBehind(reporter, (error) => onProblem("What the turn does could not be rendered", error));
}
