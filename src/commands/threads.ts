import { pipeline } from "node:stream/promises";
import type { Redis } from "ioredis";
import { replay } from "../agent/journal/replay.ts";
import type { JournalRecord } from "../agent/journal/journal.ts";
import { formatUserText, textOf, toolCalls } from "../agent/messages.ts";
import { consoleAuthor } from "../adapters/console/conversations/intake.ts";
import { createAppContext } from "../app/context.ts";
import { asTyped } from "../app/process/package-info.ts";
import { openRedis } from "../app/redis.ts";
import { openThreadRemoval } from "../app/remove-thread.ts";
import { makeTitle } from "../chat/title.ts";
import type { Mask } from "../operations/excerpt.ts";
import { describeCall } from "../progress/describe.ts";
import { keys } from "../queue/redis/keys.ts";
import { readBackward, readForward } from "../queue/session/journal/journal.ts";
import { createOverview, type SessionLine } from "../queue/session/lists/overview.ts";
import { hasErrorCode } from "../sandbox/system-error.ts";
import { createCommandContext, UsageError } from "./context.ts";
import { printResult } from "./print-result.ts";
import { writeOutput } from "./output-file.ts";
import { stripControls } from "./run/terminal-view.ts";

const titleChars = 60;
/** What of a thread is shown at once, whatever its length. */
const shown = { records: 1_000, chars: 5_000_000 };

/** Lists the sessions, the latest first, with what each began with. */
export async function printThreads({ limit, json }: { limit: number; json?: true }): Promise<number> {
  return await withRedis(async (redis, mask) => {
    const [sessions, known] = await Promise.all([
      createOverview(redis).lines(limit),
      redis.zcard(keys.threads),
    ]);
    if (json) return `${JSON.stringify({ threads: sessions, known })}\n`;
    if (sessions.length === 0) return "There are no threads yet.\n";
    const more = known > limit ? `${limit} of ${known} threads; --limit ${known} lists them all.\n` : "";
    return sessions.map((session) => describeSession(session, mask)).join("") + more;
  });
}

/**
 * Prints what was said and done in a session: its last part, or the part before a record.
 *
 * @param options.before number of a record, counted from 1
 */
export async function printThread(
  thread: string,
  { before = Infinity, json }: { before?: number; json?: true },
): Promise<number> {
  return await withRedis(async (redis, mask) => {
    const { records, from } = await readPart(redis, thread, before - 1);
    if (records.length === 0) {
      const isKnown = before === Infinity && (await createOverview(redis).line(thread)) !== undefined;
      if (isKnown && json) return `${JSON.stringify({ thread, first: 1, records })}\n`;
      if (isKnown) return `No turn has started in ${thread} yet.\n`;
      const what =
        before === Infinity ? `There is no session of ${thread}` : `${thread} has nothing before that`;
      throw new UsageError(`${what}; see heddle threads list.`);
    }
    if (json) return `${JSON.stringify({ thread, first: from + 1, records })}\n`;
    const older = from > 0 ? asTyped(`(older: heddle threads show ${thread} --before ${from + 1})\n`) : "";
    return `${older}${renderTranscript(records, mask)}\n`;
  });
}

/** Writes the whole journal of a thread as JSON lines, whatever its length. */
export async function exportThread(thread: string, file: string | undefined): Promise<number> {
  const setup = await createCommandContext("warn");
  const server = await openRedis(setup.config, setup.log, { adopts: false });
  try {
    const redis = server.connect();
    if ((await redis.exists(keys.log(thread))) === 0) {
      if (!(await createOverview(redis).line(thread)))
        throw new UsageError(`There is no session of ${thread}; see heddle threads list.`);
      process.stderr.write(`No turn has started in ${thread} yet: there are no records.\n`);
    }
    async function* lines(): AsyncGenerator<string> {
      for await (const { records } of readForward(redis, thread))
        yield records.map((record) => `${setup.masker.mask(JSON.stringify(record))}\n`).join("");
    }
    await writeOutput(file, (out) => pipeline(lines, out, { end: out !== process.stdout }));
    return 0;
  } catch (error) {
    // Whoever reads the output has seen enough, as in `heddle threads export … | head`.
    if (hasErrorCode(error, "EPIPE")) return 0;
    throw error;
  } finally {
    await server.close();
  }
}

/** Deletes a thread with all that belongs to it, as the operator. */
export async function deleteThreadByName(thread: string, { json }: { json?: true }): Promise<number> {
  const setup = await createCommandContext("warn");
  const context = await createAppContext(setup);
  try {
    const { redis } = context;
    if (!(await createOverview(redis).line(thread)))
      throw new UsageError(`There is no session of ${thread}; see heddle threads list.`);
    const operator = { ...consoleAuthor(), id: "operator" };
    const { isDeleted, note = "Deleted, with its journal, files and notes." } = await openThreadRemoval(
      context,
    )(thread, operator);
    printResult(json, { thread, isDeleted, note }, note);
    return isDeleted ? 0 : 1;
  } finally {
    await context.close();
  }
}

/**
 * Prints what `work` gives, without secrets and nothing that steers the terminal. What is cut is masked before: half a
 * secret would not be recognised.
 */
async function withRedis(work: (redis: Redis, mask: Mask) => Promise<string>): Promise<number> {
  const setup = await createCommandContext("warn");
  const mask = (text: string) => setup.masker.mask(text);
  const server = await openRedis(setup.config, setup.log, { adopts: false });
  try {
    process.stdout.write(mask(stripControls(await work(server.connect(), mask))));
    return 0;
  } finally {
    await server.close();
  }
}

function describeSession(session: SessionLine, mask: Mask): string {
  const { thread, activeAt, author, text } = session;
  const began = [author, makeTitle(mask(text), titleChars)].filter(Boolean).join(": ");
  return `${new Date(activeAt).toISOString()}  ${stateOf(session).padEnd(11)} ${thread}  ${began}\n`;
}

/** What it does, or how its last turn ended. */
function stateOf({ status, questions, ended, unsaid }: SessionLine): string {
  if (questions > 0) return "asking";
  if (status !== "idle") return status;
  return unsaid ? "unsaid" : (ended ?? status);
}

function renderTranscript(records: readonly JournalRecord[], mask: Mask): string {
  // Nothing of what the model sees in short is left out.
  const whole = records.filter(({ type }) => type !== "summary" && type !== "trim");
  return replay(whole)
    .messages.map((message) => {
      switch (message.role) {
        case "user":
          return formatUserText(message);
        case "summary":
          return `(summary) ${message.text}`;
        case "tool":
          return `  ${message.status}: ${message.text.split("\n")[0] ?? ""}`;
        case "assistant":
          return [textOf(message), ...toolCalls(message).map((call) => `  ▸ ${describeCall(call, mask)}`)]
            .filter(Boolean)
            .join("\n");
      }
    })
    .join("\n");
}

/** The last records before that position, from the beginning of a turn on where one of them begins one. */
async function readPart(
  redis: Redis,
  thread: string,
  before: number,
): Promise<{ records: JournalRecord[]; from: number }> {
  const pieces: JournalRecord[][] = [];
  const read = { records: 0, chars: 0 };
  let from = 0;
  for await (const piece of readBackward(redis, thread, before)) {
    pieces.unshift(piece.records);
    from = piece.from;
    read.records += piece.records.length;
    read.chars += piece.chars;
    if (read.records >= shown.records || read.chars >= shown.chars) break;
  }
  const records = pieces.flat();
  const start =
    from === 0
      ? 0
      : Math.max(
          0,
          records.findIndex(({ type }) => type === "turn-start"),
        );
  return { records: records.slice(start), from: from + start };
}
