import type { Redis } from "ioredis";
import type { Speaker } from "../agent/messages.ts";
import type { Decision, Question } from "../agent/questions.ts";
import type { Author, InboundEvent, IntakeResult } from "../chat/inbound.ts";
import { type ThreadId, threadId } from "../chat/threads.ts";
import { decide, readOpenQuestions } from "../queue/session/open-questions.ts";
import type { TurnQueue } from "../queue/turns/wake-queue.ts";

export interface QuestionOptions {
  redis: Redis;
  queue: TurnQueue;
  /** Whether this person may approve what the other one's task wants to do. */
  mayApprove(author: Author, requester: Speaker): boolean;
  /** Told of every decision by a person, and of every press that was refused. */
  audit(event: QuestionAuditEvent): void;
  now(): number;
}

export interface QuestionAuditEvent {
  action: "decided" | "refused";
  thread: ThreadId;
  question: Question;
  by: Author;
  decision: Decision;
}

type ActionEvent = Extract<InboundEvent, { kind: "action" }>;
type MessageEvent = Extract<InboundEvent, { kind: "message" }>;

/** What people decide about the agent's questions, by a button or by writing. */
export interface QuestionDecisions {
  /** Undefined when the button is not one of a question. */
  pressed(event: ActionEvent): Promise<IntakeResult | undefined>;
  /**
   * A message by the person who was asked answers the agent's oldest open question. To be called when it is in the
   * mailbox; the thread is to be woken after it.
   */
  written(event: MessageEvent): Promise<void>;
}

/** Longer words would crowd out the conversation. */
const maxReason = 2_000;

export function createQuestionDecisions(options: QuestionOptions): QuestionDecisions {
  const { redis, now } = options;

  const mayDecide = (question: Question, author: Author) =>
    (question.kind === "choice" && author.id === question.requester.id) ||
    options.mayApprove(author, question.requester);

  const refuse = (thread: ThreadId, question: Question, by: Author, decision: Decision): IntakeResult => {
    options.audit({ action: "refused", thread, question, by, decision });
    const { name } = question.requester;
    const who =
      question.kind === "choice" ? `${name} was asked` : `${name}, or who approves in ${name}'s place`;
    return { kind: "refused", reply: `This is not for you to decide: ${who}.` };
  };

  return {
    async pressed(event) {
      const press = parsePress(event);
      if (!press) return undefined;
      const thread = threadId(event.thread);
      const question = (await readOpenQuestions(redis, thread)).find(({ id }) => id === press.question);
      const decision = question && decisionOf(press, question, event);
      if (!question || !decision) return { kind: "refused", reply: closed };
      if (!mayDecide(question, event.author)) return refuse(thread, question, event.author, decision);
      if (now() >= question.expiresAt) return { kind: "refused", reply: late };

      const done = await decide(redis, thread, question.id, decision, now());
      if (done.kind === "closed") return { kind: "refused", reply: closed };
      await options.queue.wake(thread);
      if (done.kind === "decided") {
        options.audit({ action: "decided", thread, question, by: event.author, decision });
        return { kind: "acted", thread };
      }
      if (isSame(done.decision, decision)) return { kind: "duplicate" };
      return { kind: "refused", reply: done.decision.kind === "expired" ? late : faster };
    },

    async written(event) {
      const thread = threadId(event.thread);
      const { id, name } = event.author;
      const decision: Decision = { kind: "answered", by: { id, name }, at: event.at };
      for (const question of (await readOpenQuestions(redis, thread)).toSorted(
        (a, b) => a.askedAt - b.askedAt,
      )) {
        // Written before the question was there, it is no answer; that it came late, or twice, changes nothing.
        if (question.kind !== "choice" || event.at < question.askedAt || now() >= question.expiresAt)
          continue;
        if (!mayDecide(question, event.author)) continue;
        const done = await decide(redis, thread, question.id, decision, now());
        if (done.kind === "decided")
          options.audit({ action: "decided", thread, question, by: event.author, decision });
        if (done.kind === "decided" || (done.kind === "earlier" && isSame(done.decision, decision))) return;
      }
    },
  };
}

const closed = "This question is settled already.";
const late = "The time to decide this is over.";
const faster = "Somebody was faster: this is decided already.";

/** The buttons of questions; `progress/questions.ts` offers them. An answer without a number is the person's own. */
function parsePress({
  action,
}: ActionEvent): { kind: string; question: string; choice?: number } | undefined {
  const [, kind, question, choice] = /^(approve|deny|answer):(\w+)(?::(\d+))?$/.exec(action) ?? [];
  if (!kind || !question) return undefined;
  return { kind, question, ...(choice !== undefined && { choice: Number(choice) }) };
}

/** Undefined when the question has no such button. */
function decisionOf(
  { kind, choice }: { kind: string; choice?: number },
  question: Question,
  { author, at, text = "" }: ActionEvent,
): Decision | undefined {
  const by = { id: author.id, name: author.name };
  const said = text.trim().slice(0, maxReason);
  if (question.kind === "choice") {
    const answer = choice === undefined ? said : question.choices[choice];
    return kind === "answer" && answer ? { kind: "answered", by, text: answer, at } : undefined;
  }
  if (kind === "approve") return { kind: "approved", by, at };
  return kind === "deny" ? { kind: "denied", by, ...(said && { reason: said }), at } : undefined;
}

/** Whether it is the same decision told twice. */
function isSame(one: Decision, other: Decision): boolean {
  return "by" in one && "by" in other && one.kind === other.kind && one.by.id === other.by.id;
}
