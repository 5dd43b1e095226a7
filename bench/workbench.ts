import { randomUUID } from "node:crypto";
import type { JournalRecord } from "../src/agent/journal/journal.ts";
import { runTurn } from "../src/agent/loop/run-turn.ts";
import type { LanguageModel } from "../src/agent/model.ts";
import { createTurnEngine } from "../src/app/turns/turn-engine.ts";
import { type MessageRef, parseThreadId, type ThreadId } from "../src/chat/threads.ts";
import { createRateLimiter } from "../src/queue/outbox/rate-limit.ts";
import { claimSession } from "../src/queue/session/claim.ts";
import { deliver } from "../src/queue/session/mailbox/mailbox.ts";
import { noChanges, type TurnRunner } from "../src/queue/turns/contracts.ts";
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
  const onError = (error: unknown) => problems.push(error);
  const runner: TurnRunner = {
    run: ({ turn, history, followUps, signal }) =>
      runTurn({ ...parts, id: turn, history, followUps, signal }),
    killAll: async () => ({ commands: 0, processes: 0, survivors: 0 }),
    jobsLeft: () => undefined,
    fileChanges: async () => noChanges,
    forgetTurn() {},
  };
  const engine = await createTurnEngine({
    ...{ redis, runner, output, onError },
    subscriber: server.client(),
    surface: () => chat.surface,
    expireSeconds: 3_600,
    onProblem: (_problem, error) => problems.push(error),
  });

  return {
    async thread(journal) {
      const id = `memory:bench:${randomUUID().slice(0, 8)}:thread`;
      const lease = await claimSession(redis, id);
      for (let at = 0; at < journal.length; at += chunk) await lease.append(journal.slice(at, at + chunk));
      return id;
    },
    async run(thread, task) {
      const { message } = asked(task);
      await deliver(redis, thread, message, { onlyIfSession: false, now: Date.now() });
      await engine.runSession(thread, new AbortController().signal);
      if (problems.length > 0) throw new Error("A turn had a problem.", { cause: problems[0] });
      const { channel } = parseThreadId(thread);
      const isHere = ({ ref }: { ref: MessageRef }) => ref.channel === channel;
      const answer = chat.shown.findLast((shown) => isHere(shown) && shown.message.kind === "answer");
      const elsewhere = chat.shown.filter((shown) => !isHere(shown));
      chat.shown.splice(0, chat.shown.length, ...elsewhere);
      return answer?.message.markdown ?? "no answer";
    },
  };
}
