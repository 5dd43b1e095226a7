/** Sessions as workers leave them, written by the same code. */
import type { Redis } from "ioredis";
import type { JournalRecord } from "../../../src/agent/journal/journal.ts";
import { noUsage, type Usage } from "../../../src/agent/model.ts";
import type { AssistantPart, ToolStatus } from "../../../src/agent/messages.ts";
import type { Asking, Question } from "../../../src/agent/questions.ts";
import { askQuestion } from "../../../src/queue/session/questions/open-questions.ts";
import { deliver } from "../../../src/queue/session/mailbox/mailbox.ts";
import { claimSession } from "../../../src/queue/session/claim.ts";
import type { SessionLease } from "../../../src/queue/session/lease.ts";

export const usageOf = (cost: number, tokens: Partial<Usage> = {}): Usage => ({
  ...noUsage,
  ...{ input: 1_200, output: 300, cacheRead: 5_400, calls: 1 },
  ...tokens,
  cost,
});

let messages = 0;

/** A message that waits. */
export async function write(redis: Redis, thread: string, text: string, author = "Ada"): Promise<string> {
  const id = `${(messages += 1)}.0`;
  const message = { role: "user" as const, id, author: { id: author, name: author }, text, at: Date.now() };
  await deliver(redis, thread, message, { onlyIfSession: false, now: Date.now() });
  return id;
}

/** A turn that has taken what waits. */
export async function begin(redis: Redis, thread: string, turn = "t1"): Promise<SessionLease> {
  const lease = await claimSession(redis, thread);
  await lease.take({ type: "turn-start", turn, at: Date.now() });
  return lease;
}

export function calling(
  step: number,
  parts: AssistantPart[],
  usage = usageOf(0.01),
): Extract<JournalRecord, { type: "assistant" }> {
  const stop = parts.some(({ type }) => type === "tool-call") ? ("tool-calls" as const) : ("end" as const);
  const message = { role: "assistant" as const, id: `a${step}`, parts, model: "anthropic/claude", stop };
  return { type: "assistant", step, message, usage, at: Date.now() };
}

export function call(id: string, name: string, input: unknown): AssistantPart {
  return { type: "tool-call", call: { id, name, input } };
}

export function resultOf(
  callId: string,
  name: string,
  text: string,
  status: ToolStatus = "ok",
): Extract<JournalRecord, { type: "tool-result" }> {
  return {
    ...{ type: "tool-result", durationMs: 420, at: Date.now() },
    message: { role: "tool", callId, name, status, text },
  };
}

let questions = 0;

/** A turn that waits for what the agent asks that person. */
export async function askChoice(
  redis: Redis,
  thread: string,
  requester: string,
  choices: string[],
): Promise<{ thread: string; id: string }> {
  await write(redis, thread, `Paint the house (${requester})`);
  const lease = await begin(redis, thread);
  return askAbout(lease, thread, { kind: "choice", text: "Which colour?", choices }, requester);
}

/** Puts a question about the call `c1` to people. */
export async function askAbout(
  lease: SessionLease,
  thread: string,
  asking: Asking,
  requester: string,
): Promise<{ thread: string; id: string }> {
  const id = `ask${(questions += 1)}`;
  const [askedAt, expiresAt] = [Date.now() + questions, Date.now() + 3_600_000 + questions];
  const who = { id: requester, name: `Person ${requester}` };
  const question: Question = {
    ...asking,
    id,
    callId: "c1",
    tool: "bash",
    requester: who,
    askedAt,
    expiresAt,
  };
  const message = { kind: "question" as const, markdown: "May I?" };
  await lease.append([{ type: "question", question, at: askedAt }], askQuestion(question, message));
  return { thread, id };
}

/** Ends the turn as a worker does. */
export async function end(
  lease: SessionLease,
  outcome: Extract<JournalRecord, { type: "turn-end" }>["outcome"],
  turn = "t1",
): Promise<void> {
  await lease.append([{ type: "turn-end", turn, outcome, at: Date.now() }], {
    fields: { status: "idle", cost: String(outcome.usage.cost) },
  });
}
