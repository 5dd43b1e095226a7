import type { Redis } from "ioredis";
import { setImmediate as yieldToOthers } from "node:timers/promises";
import { z } from "zod";
import type { JournalRecord } from "../../../agent/journal/journal.ts";
import { journalRecordSchema } from "../../../agent/journal/journal-schema.ts";
import type { Message } from "../../../agent/messages.ts";
import { createStoredParser } from "../../../agent/text/parse-stored.ts";
import {
  assistantMessageSchema,
  summaryMessageSchema,
  toolMessageSchema,
  userMessageSchema,
} from "../../../agent/journal/schemas.ts";
import type { ThreadId } from "../../../chat/threads.ts";
import { compileGuard } from "../../redis/compile-guard.ts";
import { keys } from "../../redis/keys.ts";
import { readStored } from "../../redis/unreadable.ts";

/**
 * What the records before a position leave to whoever goes on there, so that a claim need not read them: the messages
 * that the model sees, and little else. It stands between two turns. It is made of the journal and can be made again:
 * without it, or with one that cannot be read, nothing is lost but time.
 */
export interface Snapshot {
  /** How many records it stands for. */
  position: number;
  messages: Message[];
  chosenModel?: string | undefined;
  /** How many messages were taken back; see cancelled-messages.ts. */
  withdrawn: number;
  /** How the last turn has ended. */
  lastEnd?: TurnEnd | undefined;
}

export type TurnEnd = Extract<JournalRecord, { type: "turn-end" }>;

/** A journal as its claim has found it; see load-journal.ts. */
export interface FoundJournal {
  length: number;
  /** JSON of a snapshot's description, and of its messages as far as they are not too many to be read by the claim. */
  snapshot?: { description: string; messages: readonly string[] };
  /** JSON of all records behind the snapshot; absent when they are too many. */
  records?: readonly string[];
}

/** In Redis a list: what describes the snapshot, and then a message each. */
const parseDescription = createStoredParser(
  z.looseObject({
    position: z.int().nonnegative(),
    messages: z.int().nonnegative(),
    chosenModel: z.string().optional(),
    withdrawn: z.int().nonnegative(),
    lastEnd: journalRecordSchema.optional(),
  }),
);

const messageSchema = z.union([
  userMessageSchema,
  assistantMessageSchema,
  toolMessageSchema,
  summaryMessageSchema,
]);
const parseMessage = createStoredParser<Message>(messageSchema, messageGuard());

/** By role, as a guard for the union would try one after the other. */
function messageGuard(): (value: unknown) => boolean {
  const guards = new Map<unknown, (value: unknown) => boolean>([
    ["user", compileGuard(userMessageSchema)],
    ["assistant", compileGuard(assistantMessageSchema)],
    ["tool", compileGuard(toolMessageSchema)],
    ["summary", compileGuard(summaryMessageSchema)],
  ]);
  return (value) =>
    typeof value === "object" &&
    value !== null &&
    "role" in value &&
    guards.get(value.role)?.(value) === true;
}

const pieceChars = 250_000;
const pieceMessages = 500;

/** The lines of a snapshot, in pieces that hold nobody up for long. */
export async function* serializeSnapshot({ messages, ...rest }: Snapshot): AsyncGenerator<string[]> {
  let lines = [JSON.stringify({ v: 1, ...rest, messages: messages.length })];
  let chars = 0;
  for (const message of messages) {
    const line = JSON.stringify(message);
    lines.push(line);
    chars += line.length;
    if (chars < pieceChars && lines.length < pieceMessages) continue;
    yield lines;
    await yieldToOthers();
    lines = [];
    chars = 0;
  }
  if (lines.length > 0) yield lines;
}

/** What a worker that died has staged is forgotten. */
const stagedSeconds = 3_600;

/** Writes a snapshot to where only this claim looks. */
export async function stageSnapshot(
  redis: Redis,
  staged: string,
  pieces: AsyncIterable<readonly string[]>,
): Promise<string> {
  await redis.del(staged);
  for await (const lines of pieces) {
    await redis
      .multi()
      .rpush(staged, ...lines)
      .expire(staged, stagedSeconds)
      .exec();
  }
  return staged;
}

/** The snapshot that a claim has found, and how large it is as it is stored; undefined without one that can be read. */
export async function readSnapshot(
  redis: Redis,
  thread: ThreadId,
  { snapshot, length }: FoundJournal,
): Promise<{ snapshot: Snapshot; chars: number } | undefined> {
  if (!snapshot) return undefined;
  const place = `The snapshot of ${thread}`;
  const described = readStored(redis, parseDescription, snapshot.description, place);
  if (!described || described.position > length) return undefined;
  const { position, withdrawn, chosenModel, lastEnd } = described;
  const messages: Message[] = [];
  let chars = 0;
  for await (const lines of messageLines(redis, thread, described.messages, snapshot.messages)) {
    for (const line of lines) {
      const message = readStored(redis, parseMessage, line, place);
      if (!message) return undefined;
      messages.push(message);
      chars += line.length;
    }
  }
  if (messages.length !== described.messages) return undefined;
  const end = lastEnd?.type === "turn-end" ? lastEnd : undefined;
  return { snapshot: { position, messages, withdrawn, chosenModel, lastEnd: end }, chars };
}

async function* messageLines(
  redis: Redis,
  thread: ThreadId,
  count: number,
  known: readonly string[],
): AsyncGenerator<readonly string[]> {
  if (known.length === count) yield known;
  else {
    for (let from = 1; from <= count; from += pieceMessages) {
      yield await redis.lrange(keys.snapshot(thread), from, Math.min(count, from + pieceMessages - 1));
    }
  }
}
