import { parseArgs } from "node:util";
import type { Redis } from "ioredis";
import { replay } from "../agent/history.ts";
import type { JournalRecord } from "../agent/journal.ts";
import { formatUserText, textOf, toolCalls } from "../agent/messages.ts";
import { openRedis } from "../app/redis.ts";
import { makeTitle } from "../chat/title.ts";
import { describeCall } from "../progress/describe.ts";
import { readBackward } from "../queue/session/journal.ts";
import { createOverview, type SessionLine } from "../queue/session/overview.ts";
import { createCommandContext, UsageError } from "./context.ts";
import { stripControls } from "./run/terminal-view.ts";

const listed = 100;
const titleChars = 60;
/** What of a thread is shown at once, whatever its length. */
const shown = { records: 1_000, chars: 5_000_000 };

/**
 * Lists the sessions, newest first, with what each began with, or prints what was said and done in one: its last part,
 * or the part before a record.
 */
export async function command(args: string[]): Promise<number> {
  const { positionals, values } = parseArgs({
    args,
    allowPositionals: true,
    options: { before: { type: "string" } },
  });
  const [verb, thread, ...rest] = positionals;
  const { before } = values;
  const lists = verb === "list" && !thread && before === undefined;
  const shows =
    verb === "show" && thread && rest.length === 0 && (before === undefined || /^[1-9]\d*$/.test(before));
  if (!lists && !shows)
    throw new UsageError("Usage: heddle threads list | show <thread> [--before <record>]");
  const setup = await createCommandContext("warn");
  const server = await openRedis(setup.config, setup.log, { adopts: false });
  try {
    const redis = server.connect();
    const text = shows
      ? await show(redis, thread, before === undefined ? Infinity : Number(before))
      : await list(redis);
    process.stdout.write(setup.masker.mask(stripControls(text)));
    return 0;
  } finally {
    await server.close();
  }
}

async function list(redis: Redis): Promise<string> {
  const sessions = await createOverview(redis).lines(listed);
  if (sessions.length === 0) return "There are no threads yet.\n";
  return sessions
    .map((session) => {
      const { thread, activeAt, author, text } = session;
      const began = [author, makeTitle(text, titleChars)].filter(Boolean).join(": ");
      return `${new Date(activeAt).toISOString()}  ${stateOf(session).padEnd(11)} ${thread}  ${began}\n`;
    })
    .join("");
}

/** What it does, or how its last turn ended. */
function stateOf({ status, questions, ended, unsaid }: SessionLine): string {
  if (questions > 0) return "asking";
  if (status !== "idle") return status;
  return unsaid ? "unsaid" : (ended ?? status);
}

/** @param before number of a record, counted from 1 */
async function show(redis: Redis, thread: string, before: number): Promise<string> {
  const { records, from } = await readPart(redis, thread, before - 1);
  if (records.length === 0) {
    const what =
      before === Infinity ? `There is no session of ${thread}` : `${thread} has nothing before that`;
    throw new UsageError(`${what}; see heddle threads list.`);
  }
  const older = from > 0 ? `(older: heddle threads show ${thread} --before ${from + 1})\n` : "";
  // Nothing of what the model sees in short is left out.
  const whole = records.filter(({ type }) => type !== "summary" && type !== "trim");
  const lines = replay(whole).messages.map((message) => {
    switch (message.role) {
      case "user":
        return formatUserText(message);
      case "summary":
        return `(summary) ${message.text}`;
      case "tool":
        return `  ${message.status}: ${message.text.split("\n")[0] ?? ""}`;
      case "assistant":
        return [textOf(message), ...toolCalls(message).map((call) => `  ▸ ${describeCall(call)}`)]
          .filter(Boolean)
          .join("\n");
    }
  });
  return `${older}${lines.join("\n")}\n`;
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
