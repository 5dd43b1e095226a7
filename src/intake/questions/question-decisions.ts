import type { Redis } from "ioredis";
import type { Speaker } from "../../agent/messages.ts";
import { type Decision, isOnlyRequesters, type Question } from "../../agent/questions.ts";
import type { Author, InboundAction, InboundMessage, IntakeResult } from "../../chat/inbound.ts";
import { parseThreadId, type ThreadId, threadId } from "../../chat/threads.ts";
import type { WrittenFields } from "../../agent/server-input.ts";
import { decide, readOpenQuestions } from "../../queue/session/questions/open-questions.ts";
import type { TurnQueue } from "../../queue/turns/wake-queue.ts";
import type { Place } from "../access.ts";
import type { AccountAuditEvent } from "./account-audit.ts";
import { createFormDrafts } from "../../queue/stores/form-drafts.ts";
import { describeKept, readInputPress } from "./input-decisions.ts";
import type { AccountConnecting, AskedAccount } from "./account-connecting.ts";

export interface QuestionOptions {
  redis: Redis;
  queue: Pick<TurnQueue, "wake">;
  /** Whether this person may approve what the requester's task wants to do. */
  mayApprove(place: Place, author: Author, requester: Speaker): boolean;
  /** Receives every decision by a person, every press of a button that was refused, and every account. */
  audit(event: QuestionAuditEvent | AccountAuditEvent): void;
  /** Absent where no accounts of persons can be connected. */
  connecting?: AccountConnecting | undefined;
  now(): number;
}

export interface QuestionAuditEvent {
  action: "decided" | "refused";
  thread: ThreadId;
  question: Question;
  by: Author;
  decision: Decision;
}

/** Records what people decide about the agent's questions, by a button or by writing. */
export interface QuestionDecisions {
  /** Undefined when the button does not belong to a question. */
  decideByButton(event: InboundAction): Promise<IntakeResult | undefined>;
  /**
   * A message by the person who was asked answers the agent's oldest open question. To be called once the message is
   * in the mailbox; the thread must be woken afterwards.
   */
  decideByMessage(event: InboundMessage): Promise<void>;
}

/** Longer ones would crowd out the conversation. No platform takes longer ones, so that none is cut without a word. */
const mostWords = 4_000;

export function createQuestionDecisions(options: QuestionOptions): QuestionDecisions {
  const { redis, now } = options;
  const drafts = createFormDrafts(redis);

  const mayDecide = (place: Place, question: Question, author: Author) => {
    const isRequester = author.id === question.requester.id;
    if (question.kind === "choice" && isRequester) return true;
    if (isOnlyRequesters(question) && !isRequester) return false;
    const isEnough =
      question.kind === "account" ||
      question.kind === "input" ||
      (question.kind === "approval" && question.owner === "alone");
    return isEnough || options.mayApprove(place, author, question.requester);
  };

  const refuse = (thread: ThreadId, question: Question, by: Author, decision: Decision): IntakeResult => {
    options.audit({ action: "refused", thread, question, by, decision });
    const { name } = question.requester;
    const isOne = question.kind === "choice" || isOnlyRequesters(question);
    const who = isOne ? `${name} was asked` : `${name}, or who approves in ${name}'s place`;
    return { kind: "refused", reply: `This is not for you to decide: ${who}.` };
  };

  /** What a press is answered with that decides nothing yet. */
  const answerFirst = async (
    thread: ThreadId,
    question: Question,
    button: string,
    { event, draft }: { event: InboundAction; draft: WrittenFields },
  ): Promise<IntakeResult | undefined> => {
    if (question.kind === "account" && button !== "deny")
      return connect(options, { thread, question }, { step: button, event });
    const press = question.kind === "input" ? readInputPress(question, event, draft) : undefined;
    if (!press || "decision" in press) return undefined;
    if ("form" in press) return { kind: "acted", thread, form: press.form };
    if ("kept" in press) {
      await drafts.keep(thread, question.id, press.kept, question.expiresAt);
      return { kind: "acted", thread, reply: describeKept(press.left), continues: true };
    }
    const { reply, isRefused, ...about } = press;
    return isRefused ? { kind: "refused", reply, ...about } : { kind: "acted", thread, reply };
  };

  const settle = async (
    thread: ThreadId,
    question: Question,
    { author }: InboundAction,
    decision: Decision,
  ): Promise<IntakeResult> => {
    const done = await decide(redis, thread, question.id, decision, now());
    if (done.kind === "closed") return { kind: "refused", reply: closed };
    await options.queue.wake(thread);
    if (done.kind === "decided") {
      options.audit({ action: "decided", thread, question, by: author, decision });
      return { kind: "acted", thread };
    }
    if (isSame(done.decision, decision)) return { kind: "duplicate" };
    return { kind: "refused", reply: done.decision.kind === "expired" ? late : faster };
  };

  return {
    async decideByButton(event) {
      const button = readQuestionAction(event);
      if (!button) return undefined;
      const thread = threadId(event.thread);
      const question = (await readOpenQuestions(redis, thread)).find(({ id }) => id === button.question);
      const draft = question && event.window?.continues ? await drafts.read(thread, question.id) : {};
      const decision = question && decisionOf(button, question, event, draft);
      if (!question || !decision) return { kind: "refused", reply: closed };
      if (!mayDecide(event.thread, question, event.author))
        return refuse(thread, question, event.author, decision);
      if (now() >= question.expiresAt) return { kind: "refused", reply: late };
      const unfinished = await answerFirst(thread, question, button.kind, { event, draft });
      if (unfinished) return unfinished;

      const result = await settle(thread, question, event, decision);
      if (event.window?.continues) await drafts.drop(thread, question.id);
      return result;
    },

    async decideByMessage(event) {
      const thread = threadId(event.thread);
      const { id, name } = event.author;
      const decision: Decision = { kind: "answered", by: { id, name }, at: event.at };
      for (const question of (await readOpenQuestions(redis, thread)).toSorted(
        (a, b) => a.askedAt - b.askedAt,
      )) {
        // Written before the question was asked, it is not an answer; that it arrived late, or twice, changes nothing.
        if (question.kind !== "choice" || event.at < question.askedAt || now() >= question.expiresAt)
          continue;
        if (!mayDecide(event.thread, question, event.author)) continue;
        const done = await decide(redis, thread, question.id, decision, now());
        if (done.kind === "decided")
          options.audit({ action: "decided", thread, question, by: event.author, decision });
        // Another message of the same person, before the turn goes on, is for the next question.
        const isRepeated = done.kind === "earlier" && isSame(done.decision, decision);
        if (done.kind === "decided" || (isRepeated && done.decision.at === event.at)) return;
      }
    },
  };
}

/** What the person reads where the account is not connected yet; undefined once it is. */
async function connect(
  { connecting, audit }: Pick<QuestionOptions, "connecting" | "audit">,
  asked: AskedAccount,
  { step, event: { author, text = "" } }: { step: string; event: InboundAction },
): Promise<IntakeResult | undefined> {
  if (!connecting) return { kind: "refused", reply: "Accounts cannot be connected here." };
  if (step === "connect") {
    const offered = await connecting.offerLink(asked);
    if ("problem" in offered) return { kind: "refused", reply: offered.problem };
    const { link, minutes } = offered;
    const reply = `Sign in here, within ${minutes} minutes and only you: ${link}\nThen press “Enter the code…” and enter the code that the page shows.`;
    return { kind: "acted", thread: asked.thread, reply };
  }
  const confirmed = await connecting.confirm(asked, text);
  if (confirmed.kind === "refused") return { kind: "refused", reply: confirmed.why };
  const { platform, workspace } = parseThreadId(asked.thread);
  const of = `${platform}:${workspace}:${author.id}`;
  audit({
    ...{ action: "account-connected", server: asked.question.server, of },
    thread: asked.thread,
    by: author,
  });
  return undefined;
}

const closed = "This question has already been settled.";
const late = "The time to decide this is over.";
const faster = "Somebody was faster: this has already been decided.";

/** The buttons that `progress/question-messages.ts` offers. An answer without a number is in the person's own words. */
function readQuestionAction({
  action,
}: InboundAction): { kind: string; question: string; choice?: number } | undefined {
  const [, kind, question, choice] =
    /^(approve|approve-thread|deny|answer|input|connect|connect-code):(\w+)(?::(\w+))?$/.exec(action) ?? [];
  if (!kind || !question) return undefined;
  return { kind, question, ...(/^\d+$/.test(choice ?? "") && { choice: Number(choice) }) };
}

/** Undefined when the question has no such button. */
function decisionOf(
  { kind, choice }: { kind: string; choice?: number },
  question: Question,
  event: InboundAction,
  draft: WrittenFields,
): Decision | undefined {
  const { author, at, text = "" } = event;
  const by = { id: author.id, name: author.name };
  const words = text.trim().slice(0, mostWords);
  if (kind === "deny" && (question.kind === "approval" || question.kind === "account"))
    return { kind: "denied", by, ...(words && { reason: words }), at };
  switch (question.kind) {
    case "choice": {
      const answer = choice === undefined ? words : question.choices[choice];
      return kind === "answer" && answer ? { kind: "answered", by, text: answer, at } : undefined;
    }
    case "account":
      // It holds only once the account is there.
      return kind.startsWith("connect") ? { kind: "approved", by, at } : undefined;
    case "input":
      return inputDecisionOf(question, event, draft);
    case "approval":
      return approvalBy(kind, question, { kind: "approved", by, at });
  }
}

/** What only shows something, or is to be corrected, stands for an answer too: it is none of whoever was not asked. */
function inputDecisionOf(
  question: Extract<Question, { kind: "input" }>,
  event: InboundAction,
  draft: WrittenFields,
): Decision | undefined {
  const press = readInputPress(question, event, draft);
  const { id, name } = event.author;
  return (
    press && ("decision" in press ? press.decision : { kind: "answered", by: { id, name }, at: event.at })
  );
}

function approvalBy(
  kind: string,
  { rules }: Extract<Question, { kind: "approval" }>,
  approved: Extract<Decision, { kind: "approved" }>,
): Decision | undefined {
  if (kind === "approve") return approved;
  return kind === "approve-thread" && rules ? { ...approved, rules } : undefined;
}

/** Whether both are the same decision, delivered twice. */
function isSame(one: Decision, other: Decision): boolean {
  if (!("by" in one && "by" in other) || one.by.id !== other.by.id) return false;
  return one.kind === other.kind && isForThread(one) === isForThread(other);
}

function isForThread(decision: Decision): boolean {
  return decision.kind === "approved" && decision.rules !== undefined;
}
