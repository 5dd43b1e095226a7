import { randomUUID } from "node:crypto";
import type { JournalRecord } from "../src/agent/journal.ts";
import { runTurn } from "../src/agent/loop/run-turn.ts";
import type { LanguageModel } from "../src/agent/model.ts";
import { parseThreadId, type ThreadId } from "../src/chat/threads.ts";
import { createReporter, progressKey } from "../src/progress/reporter.ts";
import { createLivePublisher } from "../src/queue/outbox/live.ts";
import { markMessage } from "../src/queue/outbox/marks.ts";
import { flushOutbox, readSettledSince } from "../src/queue/outbox/outbox.ts";
import { createRateLimiter } from "../src/queue/outbox/rate-limit.ts";
import { claimSession } from "../src/queue/session/lease.ts";
import { deliver } from "../src/queue/session/mailbox.ts";
import { rememberMessages } from "../src/queue/session/message-threads.ts";
import { createBackgroundJobs } from "../src/queue/turns/background-jobs.ts";
import { noChanges, type TurnRunner } from "../src/queue/turns/contracts.ts";
import { createSessionRunner } from "../src/queue/turns/run-session.ts";
import { watchStops } from "../src/queue/turns/stops.ts";
import { memoryChat } from "../tests/fakes/memory-chat.ts";
import type { TestRedis } from "../tests/fakes/redis.ts";
import { agentParts } from "./agent-parts.ts";
import { asked } from "./journal.ts";

/** Whole turns with everything that a worker does for them, without a queue to wait in or a platform to wait for. */
export interface Workbench {
  /** A new thread with this behind it. */
  thread(journal: readonly JournalRecord[]): Promise<ThreadId>;
  /** Runs a turn and returns what was posted as its answer. */
  run(thread: ThreadId, task: string): Promise<string>;
}

/** Records in one append; a script of Redis takes some thousands of arguments at most. */
const chunk = 500;

/** @param server stays the caller's to stop; that also closes the connections made here */
export async function openWorkbench(server: TestRedis, model: LanguageModel): Promise<Workbench> {
  const redis = server.client();
  const chat = memoryChat();
  const parts = await agentParts(model);
  const output = createRateLimiter(redis);
  // A turn goes on where progress cannot be shown; a measurement of that would be worth nothing.
  const problems: unknown[] = [];
  const onProblem = (_problem: string, error: unknown) => problems.push(error);
  const onError = (error: unknown) => problems.push(error);
  const stops = await watchStops(redis, server.client(), onError);
  const runner: TurnRunner = {
    run: ({ turn, history, followUps, signal }) =>
      runTurn({ ...parts, id: turn, history, followUps, signal }),
    killAll: async () => ({ commands: 0, processes: 0, survivors: 0 }),
    jobsLeft: () => undefined,
    fileChanges: async () => noChanges,
  };
  const drive = createSessionRunner({
    redis,
    stops,
    background: createBackgroundJobs({ redis, stops, runner, worker: randomUUID(), onError }),
    runner,
    expireSeconds: 3_600,
    now: Date.now,
    newId: () => randomUUID().slice(0, 8),
    display: (lease, turn) =>
      createReporter({
        surface: chat.surface,
        output,
        thread: lease.thread,
        turn,
        verbosity: "normal",
        async onProgressPosted(ref) {
          await lease.append([], { fields: { progress: JSON.stringify(ref) } });
          await rememberMessages(redis, lease.thread, [ref]);
        },
        overtaken: () => readSettledSince(redis, lease, progressKey(turn.id)),
        mark: (ref, mark, signal) => markMessage({ redis, output, surface: chat.surface }, ref, mark, signal),
        publish: createLivePublisher(redis, lease.thread, onError),
        mask: (text) => text,
        onProblem,
      }),
    flushOutbox: (lease, signal, progressQuiet) =>
      flushOutbox(lease, { redis, surface: chat.surface, output, signal, progressQuiet, onProblem }),
  });

  return {
    async thread(journal) {
      const id = `memory:bench:channel:${randomUUID().slice(0, 8)}`;
      const lease = await claimSession(redis, id);
      for (let at = 0; at < journal.length; at += chunk) await lease.append(journal.slice(at, at + chunk));
      return id;
    },
    async run(thread, task) {
      const { message } = asked(task);
      await deliver(redis, thread, message, { onlyIfSession: false, now: Date.now() });
      await drive(thread, new AbortController().signal);
      if (problems.length > 0) throw new Error("A turn had a problem.", { cause: problems[0] });
      const { channel } = parseThreadId(thread);
      const answer = chat.shown.findLast(
        ({ ref, message: shown }) => ref.channel === channel && shown.kind === "answer",
      );
      chat.shown.length = 0;
      return answer?.message.markdown ?? "no answer";
    },
  };
}
