import type { Redis } from "ioredis";
import type { ToolCall } from "../../agent/messages.ts";
import { toolCalls } from "../../agent/messages.ts";
import { describeQuestion, isOnlyRequesters, type Question } from "../../agent/questions.ts";
import { parseThreadId, type ThreadId } from "../../chat/threads.ts";
import { toVisibleCall } from "../../chat/visible-call.ts";
import { type AskingThread, readAskingThreads } from "../../queue/session/questions/asking-threads.ts";
import { readJournalSlice } from "../../queue/session/journal/journal.ts";
import { readUndecidedQuestions } from "../../queue/session/questions/open-questions.ts";
import type { Mask } from "../excerpt.ts";
import type { QuestionLine } from "../operations.ts";

/** Who may decide about a call; see `access.approve`. */
export type Approvers = "everyone" | "requester" | "administrators";

/** The call is among so many records. */
const lastRecords = 300;

/**
 * The questions of all threads that nobody has decided, those first whose time is over first.
 *
 * @param among only of these threads
 */
export async function listQuestions(
  redis: Redis,
  approvers: Approvers,
  mask: Mask,
  now: number,
  among?: readonly ThreadId[],
): Promise<QuestionLine[]> {
  const asking = among ? await readAsking(redis, among) : await readAskingThreads(redis, now);
  const lines = await Promise.all(
    asking.map(async ({ thread, questions }) => {
      const open = questions.filter(({ expiresAt }) => expiresAt > now);
      const calls = open.length > 0 ? await readCalls(redis, thread) : undefined;
      return open.map((question) => lineOf(thread, question, calls?.get(question.callId), approvers, mask));
    }),
  );
  return lines.flat().toSorted((a, b) => a.until - b.until);
}

async function readAsking(redis: Redis, threads: readonly ThreadId[]): Promise<AskingThread[]> {
  const read = async (thread: ThreadId) => ({
    thread,
    questions: await readUndecidedQuestions(redis, thread),
  });
  return await Promise.all(threads.map(read));
}

async function readCalls(redis: Redis, thread: ThreadId): Promise<Map<string, ToolCall>> {
  const { records } = await readJournalSlice(redis, thread, {}, lastRecords);
  const calls = records.flatMap((record) => (record.type === "assistant" ? toolCalls(record.message) : []));
  return new Map(calls.map((call) => [call.id, call]));
}

function lineOf(
  thread: ThreadId,
  question: Question,
  call: ToolCall | undefined,
  approvers: Approvers,
  mask: Mask,
): QuestionLine {
  const { id, kind, tool, requester, askedAt: since, expiresAt: until } = question;
  const name = mask(requester.name);
  const isApproval = kind === "approval";
  const isOwners = isOnlyRequesters(question);
  const visible = call && isApproval ? toVisibleCall(call, mask) : undefined;
  return {
    ...{ id, thread, kind, since, until, platform: parseThreadId(thread).platform },
    tool: mask(tool),
    text: mask(describeQuestion(question)),
    call: [visible?.besides && `with ${visible.besides}`, visible?.text].filter(Boolean).join("\n"),
    note: visible?.note ?? "",
    choices: kind === "choice" ? question.choices.map(mask) : [],
    forThread: isApproval ? (question.rules ?? []).map(({ text }) => mask(text)) : [],
    requester: name,
    requesterId: requester.id,
    isOwners,
    decides: isApproval && !isOwners && approvers !== "requester" ? approvers : name,
  };
}
