import type { Redis } from "ioredis";
import type { Author, InboundEvent, IntakeResult } from "../chat/inbound.ts";
import { type ThreadId, threadId, type ThreadRef } from "../chat/threads.ts";
import type { Budgets } from "../queue/budgets/budgets.ts";
import { deliver } from "../queue/session/mailbox.ts";
import { type PausedTurn, readPausedTurn } from "../queue/session/paused-turn.ts";
import type { TurnQueue } from "../queue/turns/wake-queue.ts";

/** Somebody lets a turn go on that a limit has ended. `budget`: the one that was extended for it. */
export interface ContinueAuditEvent {
  action: "continued";
  thread: ThreadId;
  turn: string;
  by: Author;
  budget?: string;
}

export interface ContinueOptions {
  redis: Redis;
  queue: TurnQueue;
  budgets: Pick<Budgets, "isOfToday" | "extend">;
  /** Who may let a turn go on whose day's budget is used up. */
  mayExtend(author: Author): boolean;
  /** Who may let the thread's last turn go on, which another limit has ended. */
  mayContinue(author: Author, thread: ThreadId): Promise<boolean>;
  audit(auditEvent: ContinueAuditEvent): void;
  now(): number;
}

/** `auditEvent`: what is to be noted when a paused turn goes on. `paidBy`: see `UserMessage`. */
type Leave =
  | { allowed: true; auditEvent?: ContinueAuditEvent; paidBy?: string }
  | { allowed: false; reply: string };

/** Goes on with turns that a limit has ended: by a button, or by the word. */
export interface Continuing {
  /** Somebody pressed the button of that turn. */
  press(event: Extract<InboundEvent, { kind: "action" }>, turn: string): Promise<IntakeResult>;
  /** Asked before the word is taken as the message that it is. */
  leave(event: Pick<InboundEvent & { thread: ThreadRef }, "thread" | "author">): Promise<Leave>;
}

/** Whether the whole message asks to go on. */
export function isContinueCommand(text: string): boolean {
  return /^[/!]?continue[\s.!]*$/i.test(text.normalize("NFKC").trim());
}

export function createContinuing(options: ContinueOptions): Continuing {
  const { redis, queue, budgets, mayExtend, mayContinue, audit } = options;

  const leaveFor = async (paused: PausedTurn, author: Author, thread: ThreadId): Promise<Leave> => {
    const { usedUp } = paused.outcome;
    const auditEvent: ContinueAuditEvent = { action: "continued", thread, turn: paused.turn, by: author };
    if (!usedUp || !budgets.isOfToday(usedUp.budget)) {
      if (await mayContinue(author, thread)) return { allowed: true, auditEvent };
      return {
        allowed: false,
        reply: "You may not continue this: only those who asked for it, or administrators.",
      };
    }
    if (!mayExtend(author)) {
      return {
        allowed: false,
        reply: `The budget of ${usedUp.limit} is used up until ${usedUp.resets}, and only an administrator can extend it. Please ask one, or write “continue” after that.`,
      };
    }
    const paidBy = await budgets.extend(usedUp.budget, paused.turn);
    return {
      allowed: true,
      auditEvent: { ...auditEvent, budget: usedUp.budget },
      ...(paidBy !== undefined && { paidBy }),
    };
  };

  return {
    async press({ thread: place, ref, author, at }, turn) {
      const thread = threadId(place);
      const paused = await readPausedTurn(redis, thread);
      if (paused?.turn !== turn) return { kind: "ignored", why: "the work has gone on since" };
      const leave = await leaveFor(paused, author, thread);
      if (!leave.allowed) return { kind: "refused", reply: leave.reply };
      const { id, name } = author;
      const message = {
        role: "user" as const,
        id: `${ref.message}~continue`,
        author: { id, name },
        text: "continue",
        at,
        ...(leave.paidBy !== undefined && { paidBy: leave.paidBy }),
      };
      const delivery = await deliver(redis, thread, message, { onlyIfSession: true, now: options.now() });
      const isFirst = delivery.kind === "accepted";
      if (isFirst && leave.auditEvent) audit(leave.auditEvent);
      await queue.wake(thread);
      return { kind: "acted", thread, ...(!isFirst && { unchanged: true }) };
    },

    async leave({ thread: place, author }) {
      const thread = threadId(place);
      const paused = await readPausedTurn(redis, thread);
      return paused ? leaveFor(paused, author, thread) : { allowed: true };
    },
  };
}
