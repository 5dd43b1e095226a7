import { Readable } from "node:stream";
import { setTimeout } from "node:timers/promises";
import { consoleMessageRef } from "../adapters/console/conversations/refs.ts";
import {
  consoleAuthor,
  createConsoleIntake,
  createConsoleThread,
} from "../adapters/console/conversations/intake.ts";
import { maxUploadBytes } from "../adapters/console/conversations/uploads.ts";
import type { TurnOutcome } from "../agent/events.ts";
import type { Masker } from "../agent/secrets/masker.ts";
import type { Question } from "../agent/questions.ts";
import { closeAll } from "../app/process/close.ts";
import { type AppContext, createAppContext } from "../app/context.ts";
import { asTyped } from "../app/process/package-info.ts";
import type { Running } from "../app/process/running.ts";
import { type Models, openModels } from "../app/models/models.ts";
import { openSandboxBackend } from "../app/sandbox.ts";
import { startWorker } from "../app/worker.ts";
import { type ThreadId, type ThreadRef, threadId } from "../chat/threads.ts";
import { type LiveEvent, parseLiveEvent } from "../progress/live-event.ts";
import { followLive } from "../queue/outbox/live-events.ts";
import { explainRefusal, RedisUnavailable } from "../queue/redis/unavailable.ts";
import { whileAnswering } from "../queue/redis/while-answering.ts";
import type { Workspaces } from "../sandbox/sandbox.ts";
import { createCommandContext, UsageError } from "./context.ts";
import { type GivenAnswer, giveTask } from "./run/give-task.ts";
import { readTaskInput } from "./run/task-input.ts";
import { type CopyTarget, copyWorkspace, prepareTarget } from "./run/workspace-copy.ts";
import { findEarlierThread, parseTerminalThread } from "./run/earlier-thread.ts";
import { watchTask } from "./run/task-watch.ts";
import { decideAtTerminal } from "./run/terminal-decision.ts";
import { readPromptOption } from "./run/prompt-option.ts";
import { createTerminalView, stripControls, type TerminalView } from "./run/terminal-view.ts";

/** Exit codes: 0 answered, 1 failed or refused, 3 a limit was reached, 130 stopped. */
function exitCode(outcome: TurnOutcome): number {
  switch (outcome.kind) {
    case "answered":
      return 0;
    case "step-limit":
    case "budget":
      return 3;
    case "stopped":
      return 130;
    case "refused":
    case "model-error":
    case "waiting":
    case "suspended":
    case "lost-lease":
      return 1;
  }
}

const lost =
  "heddle: The task is lost: Redis does not know it any more, perhaps because it was started again without its data. Run it again.";

/** For how long the task waits for a Redis that is away: as long as a command waits for a cluster's new primary, ms. */
const awayMs = 60_000;
const isKept = "The task is kept there: heddle start goes on with it once Redis is back.";
const away = {
  awayMs,
  silentMs: awayMs,
  problem: `Redis has not answered for ${awayMs / 1_000} s. ${isKept}`,
};

/** A command may be refused before the wait is over. */
function tellThatTaskIsKept(error: unknown): never {
  const refusal = explainRefusal(error, isKept);
  throw refusal === undefined ? error : new RedisUnavailable(refusal);
}

/** How often it is looked whether anybody still serves, and how the task stands, in ms. */
const lookEveryMs = 1_000;

/**
 * A worker that is already serving takes the turn; where there is none, or no longer, this process is the worker, one of
 * its `parts`. Looks how things stand all the while.
 */
async function workUntil(
  ended: Promise<unknown>,
  look: () => Promise<void>,
  { context, models, parts }: { context: AppContext; models: Models; parts: Running[] },
): Promise<void> {
  for (;;) {
    if (parts.length === 0 && (await context.queue.workers()) === 0)
      parts.push(await startWorker(context, () => models));
    const waiting = new AbortController();
    const pause = setTimeout(lookEveryMs, "look", { signal: waiting.signal }).catch(() => "look");
    const next = await Promise.race([ended.then(() => "ended"), pause]);
    waiting.abort();
    if (next === "ended") return;
    await look();
  }
}

export interface RunOptions {
  thread?: string;
  model?: string;
  /** `server/name`, and `name=value` for each of its arguments. */
  prompt?: string;
  argument?: string[];
  file?: string[];
  out?: string;
  json?: true;
}

/** For how long a silent pipe is waited for beside a task in words, in ms. */
const pipeMs = 3_000;
/** By then a failure is told and the exit code set, in ms. */
const endMs = 100;
/** How often the time of what runs is drawn anew, in ms. */
const drawEveryMs = 1_000;

/** Runs one task in a thread of the console, a new one or `--thread`, through the same queue, worker and sandbox as a chat message. */
export async function runTask(words: readonly string[], values: RunOptions): Promise<number> {
  const earlier = values.thread === undefined ? undefined : parseTerminalThread(values.thread);
  const prompt = readPromptOption(values);
  const target = values.out === undefined ? undefined : await prepareTarget(values.out);
  const task = await readTaskInput({
    ...{
      words,
      paths: values.file ?? [],
      stdin: process.stdin,
      maxBytes: maxUploadBytes,
      patienceMs: pipeMs,
    },
    warn: (sentence) => process.stderr.write(`heddle: ${sentence}\n`),
  });

  const setup = await createCommandContext(process.env["HEDDLE_LOG_LEVEL"] ?? "warn");
  const models = await openModels(setup.config, setup.log);
  const context = await createAppContext(setup);
  const parts: Running[] = [];
  try {
    const place = earlier
      ? await findEarlierThread(context.redis, earlier, task.text)
      : { thread: createConsoleThread(), from: 0 };
    if (typeof place === "string") {
      process.stderr.write(`heddle: ${place}\n`);
      return 1;
    }
    const { thread, from } = place;
    const intake = createConsoleIntake({ redis: context.redis, intake: context.intake });
    const view = values.json ? undefined : createTerminalView(process.stdout, process.stderr, setup.masker);
    const over = new AbortController();
    const drawing = setInterval(() => view?.tick(), drawEveryMs).unref();
    const decide = async (question: Question) => {
      // The output of --json is for a program.
      const input = values.json ? Readable.from([]) : process.stdin;
      view?.pause();
      const press = await decideAtTerminal(question, { input, output: process.stderr }, over.signal);
      const about = { thread, ref: consoleMessageRef(thread.thread, question.id), author: consoleAuthor() };
      await context.intake.receive({ kind: "action", ...about, ...press, at: Date.now() });
    };
    let asking = Promise.resolve();
    const questions = new Set<string>();
    let isOver = false;
    const { promise: ended, resolve: end } = Promise.withResolvers<TurnOutcome | undefined>();
    const take = (live: LiveEvent) => {
      if (isOver || (live.type === "question" && questions.has(live.question.id))) return;
      if (values.json) process.stdout.write(`${setup.masker.mask(JSON.stringify(live))}\n`);
      view?.show(live);
      if (live.type === "question") {
        questions.add(live.question.id);
        // One after the other; a turn that has ended meanwhile asks nothing any more.
        asking = asking
          .then(() => decide(live.question))
          .catch((error: unknown) => {
            if (!over.signal.aborted) setup.log.error({ err: error }, "the question could not be decided");
          });
      }
      if (live.type === "turn-end") {
        isOver = true;
        end(live.outcome);
      }
    };
    // Before the task is given: a worker that already serves may be done with it at once. Only workers publish.
    await followLive(context.server.connect(), threadId(thread), (json) => {
      const event = parseLiveEvent(json);
      // What a later Heddle tells, `watchTask` finds in what is stored.
      if (event.ok) take(event.value);
    });

    if (values.json)
      process.stdout.write(`${JSON.stringify({ type: "thread", thread: threadId(thread) })}\n`);
    let presses = 0;
    const stop = () => {
      presses += 1;
      if (presses > 1) process.exit(130);
      intake
        .stop(thread, consoleAuthor())
        .catch((error: unknown) => setup.log.error({ err: error }, "the task could not be stopped"));
    };
    // Whoever only dies leaves the task to the next worker, which goes on with it.
    process.on("SIGINT", stop).on("SIGTERM", stop);
    const given = await giveTask(task, { context, thread, model: values.model, prompt });
    if (given) return tell(given, view, setup.masker);
    const look = watchTask(context.redis, threadId(thread), from, (event) =>
      event ? take(event) : end(undefined),
    );
    const { redis, server } = context;
    const working = workUntil(ended, look, { context, models, parts });
    await whileAnswering(working, { redis, isAnswering: server.isAnswering }, away).catch(tellThatTaskIsKept);
    const outcome = await ended;
    over.abort();
    clearInterval(drawing);
    await asking;
    if (outcome) {
      const copied = await sayWhere(context, thread, target);
      return copied ? exitCode(outcome) : Math.max(1, exitCode(outcome));
    }
    process.stderr.write(`${lost}\n`);
    return 1;
  } finally {
    // Connections that wait for Redis would keep the process, which has first to say what went wrong.
    if (!(await closeAll(parts, context))) void setTimeout(endMs).then(() => process.exit());
  }
}

/** Says what there is to say without a turn. */
function tell(
  { markdown, isRefused }: GivenAnswer,
  view: TerminalView | undefined,
  masker: Pick<Masker, "mask">,
): number {
  if (isRefused) process.stderr.write(`${masker.mask(stripControls(markdown))}\n`);
  else if (view) view.answer(markdown);
  else process.stdout.write(`${masker.mask(JSON.stringify({ type: "reply", markdown }))}\n`);
  return isRefused ? 1 : 0;
}

/** Says how to go on and where the files are, and copies them if that was asked for; false when it could not. */
async function sayWhere(
  { config, sandbox }: AppContext,
  thread: ThreadRef,
  target: CopyTarget | undefined,
): Promise<boolean> {
  const id = threadId(thread);
  const backend = openSandboxBackend(config);
  try {
    const isCopied = !(await sandbox.probe()).ok || (await showFiles(await backend.workspaces(), id, target));
    process.stderr.write(asTyped(`Go on with: heddle run --thread ${id} "…"\n`));
    return isCopied;
  } finally {
    await backend.close();
  }
}

async function showFiles(
  workspaces: Workspaces,
  id: ThreadId,
  target: CopyTarget | undefined,
): Promise<boolean> {
  const found = (await workspaces.list()).find((workspace) => workspace.threadId === id);
  if (found?.folder)
    process.stderr.write(`${asTyped(`Its files: heddle workspaces export ${id}`)} (${found.folder})\n`);
  if (!target) return true;
  try {
    const isCopied = await copyWorkspace(workspaces, id, target);
    process.stderr.write(
      isCopied
        ? `Copied to ${target.path}\n`
        : "heddle: --out: this machine has no files of this thread: a worker elsewhere did the task, or no command ran.\n",
    );
    return isCopied;
  } catch (error) {
    // The task itself is done: how to go on with it is still to be said.
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`heddle: --out: ${error.message}\n`);
    return false;
  }
}
