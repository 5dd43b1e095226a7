import type { Redis } from "ioredis";
import { replay } from "../agent/history.ts";
import { formatUserText, textOf, toolCalls } from "../agent/messages.ts";
import { openRedis } from "../app/redis.ts";
import { makeTitle } from "../chat/title.ts";
import { describeCall } from "../progress/describe.ts";
import { readJournal } from "../queue/session/journal.ts";
import { createOverview, type SessionLine } from "../queue/session/overview.ts";
import { createCommandContext, UsageError } from "./context.ts";
import { stripControls } from "./run/terminal-view.ts";

const listed = 100;
const titleChars = 60;

/** Lists the sessions, newest first, with what each began with, or prints what was said and done in one. */
export async function command(args: string[]): Promise<number> {
  const [verb, thread, ...rest] = args;
  const lists = verb === "list" && !thread;
  const shows = verb === "show" && thread && rest.length === 0;
  if (!lists && !shows) throw new UsageError("Usage: heddle threads list | show <thread>");
  const setup = await createCommandContext("warn");
  const server = await openRedis(setup.config, setup.log, { adopts: false });
  try {
    const redis = server.connect();
    const text = shows ? await show(redis, thread) : await list(redis);
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

async function show(redis: Redis, thread: string): Promise<string> {
  const records = await readJournal(redis, thread);
  if (records.length === 0)
    throw new UsageError(`There is no session of ${thread}; see heddle threads list.`);
  const lines = replay(records).messages.map((message) => {
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
  return `${lines.join("\n")}\n`;
}
