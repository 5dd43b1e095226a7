import type { Redis } from "ioredis";
import { z } from "zod";
import { isUndecided, type OpenCall } from "../../../agent/journal/history.ts";
import type { JournalRecord } from "../../../agent/journal/journal.ts";
import type { ToolCall } from "../../../agent/messages.ts";
import type { Decision, Question } from "../../../agent/questions.ts";
import type { OutboundMessage } from "../../../chat/outbound.ts";
import type { ThreadId } from "../../../chat/threads.ts";
import type { OutboxEntry } from "../../outbox/contracts.ts";
import { keys } from "../../redis/keys.ts";
import { loadScript } from "../../redis/script.ts";
import type { Change } from "../lease.ts";
import { parseDecision, parseQuestion, readHeadField } from "../stored.ts";
import { enqueueForSweep } from "../lists/sweep-list.ts";
import { listApprovedFields, readApprovals } from "./thread-approvals.ts";

const decideScript = loadScript(new URL("../scripts/decide.lua", import.meta.url));
/** See its header. */
const decideReply = z.union([z.literal([0, 1]), z.string()]);

/**
 * Open questions are fields of the session's head, written with the record that asks, so that intake can check a
 * press without the journal. A decision is a field beside it, until a worker puts it on record.
 */
const openField = (id: string) => `question:${id}` as const;
const decisionField = (id: string) => `decision:${id}` as const;
/** Where the question was posted, or by the turn's id the offer to go on with it. */
export const postedField = (id: string) => `asked:${id}` as const;

/** Whether a write of these fields puts a question to people. */
export function asksPeople(fields: Change["fields"] = {}): boolean {
  return Object.entries(fields).some(([field, value]) => field.startsWith(openField("")) && value !== "");
}

/** The questions that a thread has open, decided or not. */
export async function readOpenQuestions(redis: Redis, thread: ThreadId): Promise<Question[]> {
  const head = await redis.hgetall(keys.head(thread));
  return Object.entries(head).flatMap(([field, json]) =>
    field.startsWith(openField("")) ? (readHeadField(redis, thread, field, parseQuestion, json) ?? []) : [],
  );
}

/** The questions that nobody has decided yet. */
export async function readUndecidedQuestions(redis: Redis, thread: ThreadId): Promise<Question[]> {
  const open = await readOpenQuestions(redis, thread);
  if (open.length === 0) return [];
  const decisions = await redis.hmget(keys.head(thread), ...open.map(({ id }) => decisionField(id)));
  return open.filter((_, index) => !decisions[index]);
}

/** `decided`: by this call. `earlier`: the decision that holds. `closed`: the question is not open any more. */
export type DecisionResult =
  | { kind: "decided" }
  | { kind: "earlier"; decision: Decision }
  | { kind: "closed" };

/**
 * Decides a question, with what is approved for the whole thread, and lists the thread for the sweeper. When this
 * resolves the decision survives any crash.
 */
export async function decide(
  redis: Redis,
  thread: ThreadId,
  question: string,
  decision: Decision,
  now: number,
): Promise<DecisionResult> {
  const done = await settle(redis, thread, question, decision, listApprovedFields(decision));
  // Also when it was decided before: that process may have died before it came here.
  if (done.kind !== "closed") await enqueueForSweep(redis, thread, now);
  return done;
}

async function settle(
  redis: Redis,
  thread: ThreadId,
  question: string,
  decision: Decision,
  approved: readonly string[] = [],
): Promise<DecisionResult> {
  const args = [question, JSON.stringify(decision), ...approved];
  const result = decideReply.parse(await decideScript.run(redis, [keys.head(thread)], args));
  if (result === 0) return { kind: "closed" };
  if (result === 1) return { kind: "decided" };
  const earlier = readDecision(redis, thread, question, result);
  return earlier ? { kind: "earlier", decision: earlier } : { kind: "closed" };
}

/** For the write that gives up posting the question: nobody will answer it. */
export function dropQuestion(id: string, why: string, at: number): NonNullable<Change["fields"]> {
  const decision: Decision = { kind: "unasked", why, at };
  return { [decisionField(id)]: JSON.stringify(decision) };
}

/** For the write of the record that asks. */
export function askQuestion(question: Question, message: OutboundMessage): Change {
  return {
    // From now on people talk with the agent there: see deliver.lua.
    fields: { [openField(question.id)]: JSON.stringify(question), listening: "" },
    outbox: entry(`question:${question.id}`, { do: "post", message, attempts: 0, question: question.id }),
  };
}

/** What shows people how a question ended; without a decision the turn ended first. */
export type RenderDecision = (question: Question, call: ToolCall, decision?: Decision) => OutboundMessage;

/**
 * What has been decided since, and what nobody has decided in time, as records and the changes that go with them. That
 * the time is over is a decision like a person's: whichever of them comes first holds, and the other is told so.
 */
export async function collectDecisions(
  redis: Redis,
  thread: ThreadId,
  open: readonly OpenCall[],
  show: RenderDecision,
  now: number,
): Promise<{ records: JournalRecord[]; change: Change }> {
  const records: JournalRecord[] = [];
  const changes: Change[] = [];
  for (const { call, question, decision: known } of open) {
    if (!question || known) continue;
    const decision = await decisionOn(redis, thread, question, now);
    if (!decision) continue;
    records.push({ type: "decision", question: question.id, decision, at: now });
    changes.push(closeQuestion(question, show(question, call, decision)));
  }
  return { records, change: mergeChanges(changes) };
}

async function decisionOn(
  redis: Redis,
  thread: ThreadId,
  question: Question,
  now: number,
): Promise<Decision | undefined> {
  if (now >= question.expiresAt)
    return await settleFor(redis, thread, question, { kind: "expired", at: question.expiresAt });
  const stored = await redis.hget(keys.head(thread), decisionField(question.id));
  if (stored) return readDecision(redis, thread, question.id, stored);
  // Another question was answered with an approval that covers this one, too.
  const rules = question.kind === "approval" ? (question.rules ?? []) : [];
  const approvals = await readApprovals(
    redis,
    thread,
    rules.map(({ id }) => id),
  );
  const last = approvals?.toSorted((a, b) => a.at - b.at).at(-1);
  if (!last) return undefined;
  const { by, at } = last;
  return await settleFor(redis, thread, question, { kind: "approved", by, at, rules });
}

/** Decides for people; where one of them was faster that holds. */
async function settleFor(
  redis: Redis,
  thread: ThreadId,
  { id }: Question,
  decision: Decision,
): Promise<Decision> {
  const done = await settle(redis, thread, id, decision);
  return done.kind === "earlier" ? done.decision : decision;
}

function readDecision(
  redis: Redis,
  thread: ThreadId,
  question: string,
  json: string | null,
): Decision | undefined {
  return readHeadField(redis, thread, decisionField(question), parseDecision, json);
}

/** For the write of the turn's end: what is still open will not be decided. */
export function abandonQuestions(open: readonly OpenCall[], show: RenderDecision): Change {
  return mergeChanges(
    open.filter(isUndecided).map(({ question, call }) => closeQuestion(question, show(question, call))),
  );
}

function closeQuestion({ id }: Question, message: OutboundMessage): Change {
  return {
    fields: { [openField(id)]: "", [decisionField(id)]: "" },
    outbox: entry(`question:${id}:closed`, { do: "edit", field: postedField(id), message }),
  };
}

function entry(key: string, value: OutboxEntry): Record<string, string> {
  return { [key]: JSON.stringify(value) };
}

/** All of them as one write; of the same field the last counts. */
export function mergeChanges(changes: readonly Omit<Change, "done">[]): Change {
  return changes.reduce(
    (all, { fields, outbox }) => ({
      fields: { ...all.fields, ...fields },
      outbox: { ...all.outbox, ...outbox },
    }),
    {},
  );
}
