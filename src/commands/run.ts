import { Readable } from "node:stream";
import { setTimeout } from "node:timers/promises";
import { parseArgs } from "node:util";
import { type Foundation, layFoundation, type Running } from "../foundation.ts";
import { startWorker } from "../worker.ts";
import { threadId } from "../adapters/adapter.ts";
import { consoleMessageRef } from "../adapters/local/conversations.ts";
import { consoleAuthor, createLocalDoor, newConsoleThread } from "../adapters/local/door.ts";
import type { TurnOutcome } from "../agent/events.ts";
import type { Question } from "../agent/questions.ts";
import { type Models, openModels } from "../models.ts";
import type { LiveEvent } from "../progress/reporter.ts";
import { followLive } from "../queue/live.ts";
import { setUp, UsageError } from "./setup.ts";
import { decideAtTerminal } from "./terminal-decision.ts";
import { terminalView } from "./terminal-view.ts";

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

/** How often it is looked whether anybody still serves, in ms. */
const lookEveryMs = 1_000;

/** A worker that is already serving takes the turn; where there is none, or no longer, this process is the worker. */
async function workUntil(
  ended: Promise<unknown>,
  foundation: Foundation,
  models: Models,
): Promise<Running | undefined> {
  for (;;) {
    if ((await foundation.queue.workers()) === 0) return startWorker(foundation, models);
    const look = new AbortController();
    const pause = setTimeout(lookEveryMs, "look", { signal: look.signal }).catch(() => "look");
    const next = await Promise.race([ended, pause]);
    look.abort();
    if (next !== "look") return undefined;
  }
}

/** Runs one task as a thread of the console, through the same queue, worker and sandbox as a chat message. */
export async function command(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { json: { type: "boolean", default: false } },
  });
  const task = positionals.join(" ").trim();
  if (!task) throw new UsageError('There is no task: write heddle run "what to do".');

  const setup = await setUp(process.env["HEDDLE_LOG_LEVEL"] ?? "warn");
  const models = await openModels(setup.config, setup.log);
  const foundation = await layFoundation(setup);
  try {
    const thread = newConsoleThread();
    const door = createLocalDoor({ redis: foundation.redis, door: foundation.door });
    const view = values.json ? undefined : terminalView(process.stdout, process.stderr, setup.masker);
    const over = new AbortController();
    const decide = async (question: Question) => {
      // The output of --json is for a program.
      const input = values.json ? Readable.from([]) : process.stdin;
      const press = await decideAtTerminal(question, { input, output: process.stderr }, over.signal);
      const about = { thread, ref: consoleMessageRef(thread.thread, question.id), author: consoleAuthor() };
      await foundation.door.receive({ kind: "action", ...about, ...press, at: Date.now() });
    };
    let asking = Promise.resolve();
    const ended = new Promise<TurnOutcome>((resolve) => {
      void followLive(foundation.server.connect(), threadId(thread), (event) => {
        const live = event as LiveEvent; // Published by our own workers only.
        if (values.json) process.stdout.write(`${setup.masker.mask(JSON.stringify(live))}\n`);
        view?.show(live);
        if (live.type === "question") {
          // One after the other; a turn that has ended meanwhile asks nothing any more.
          asking = asking
            .then(() => decide(live.question))
            .catch((error: unknown) => {
              if (!over.signal.aborted) setup.log.error({ err: error }, "the question could not be decided");
            });
        }
        if (live.type === "turn-end") resolve(live.outcome);
      });
    });

    let presses = 0;
    process.on("SIGINT", () => {
      presses += 1;
      if (presses > 1) process.exit(130);
      void door.stop(thread, consoleAuthor());
    });
    const verdict = await door.say(thread, task, consoleAuthor());
    if (verdict.kind === "refused" || verdict.kind === "ignored") {
      process.stderr.write(`${verdict.kind === "refused" ? verdict.reply : `Not taken: ${verdict.why}.`}\n`);
      return 1;
    }
    const worker = await workUntil(ended, foundation, models);
    const outcome = await ended;
    over.abort();
    await asking;
    await worker?.close();
    return exitCode(outcome);
  } finally {
    await foundation.close();
  }
}
