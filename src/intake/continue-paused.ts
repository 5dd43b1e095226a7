import type { Redis } from "ioredis";
import type { Author, InboundAction, InboundMessage, IntakeResult } from "../chat/inbound.ts";
import { parseThreadId, type ThreadId, threadId } from "../chat/threads.ts";
import { type Budgets, isOfEverybody } from "../queue/budgets/budgets.ts";
import { type PausedTurn, readPausedTurn } from "../queue/session/continue-offer.ts";
import { deliver } from "../queue/session/mailbox/mailbox.ts";
import type { TurnQueue } from "../queue/turns/wake-queue.ts";
import type { Access } from "./access.ts";

/** Somebody continued a turn that a limit had paused. `budget`: the one that was extended for it. */
export interface ContinueAuditEvent {
  action: "continued";
  thread: ThreadId;
  turn: string;
  by: Author;
  budget?: string;
}

export interface ContinueOptions {
  redis: Redis;
  queue: Pick<TurnQueue, "wake">;
  budgets: Pick<Budgets, "isOfToday" | "extend">;
  /** Who may continue a turn for which a daily budget is used up. */
  mayExtend: Access["mayExtend"];
  /** Who may continue the thread's last turn, which another limit has paused. */
  mayContinue(author: Author, thread: ThreadId): Promise<boolean>;
  audit(auditEvent: ContinueAuditEvent): void;
  now(): number;
}

/** `auditEvent`: to be recorded once the paused turn continues. `paidBy`: see `UserMessage`. */
export type ContinuePermission =
  | { allowed: true; auditEvent?: ContinueAuditEvent; paidBy?: string }
  | { allowed: false; reply: string };

/** Continues turns that a limit has paused: by a button, or by the text command. */
export interface Continuing {
  /** Somebody pressed the Continue button of that turn. */
  press(event: InboundAction, turn: string): Promise<IntakeResult>;
  /**
   * Whether the author of a `continue` message may continue the thread's paused turn. To be asked before the message
   * is delivered. An allowed one has extended the budget by then.
   */
  askPermission(event: Pick<InboundMessage, "thread" | "author">): Promise<ContinuePermission>;
}

/** Whether the whole message is the text command `continue`. */
export function isContinueCommand(text: string): boolean {
  return /^[/!]?continue[\s.!]*$/i.test(text.normalize("NFKC").trim());
}

export function createContinuing(options: ContinueOptions): Continuing {
  const { redis, queue, budgets, mayExtend, mayContinue, audit } = options;

  const grant = async (paused: PausedTurn, author: Author, thread: ThreadId): Promise<ContinuePermission> => {
    const { usedUp } = paused.outcome;
    const auditEvent: ContinueAuditEvent = { action: "continued", thread, turn: paused.turn, by: author };
    if (!usedUp || !budgets.isOfToday(usedUp.budget)) {
      if (await mayContinue(author, thread)) return { allowed: true, auditEvent };
      return {
        allowed: false,
        reply: "You may not continue this: only those who asked for it, or administrators.",
      };
    }
    const share = isOfEverybody(usedUp.budget) ? "everybody" : "own";
    if (!mayExtend(parseThreadId(thread), author, share)) {
      const whose = share === "everybody" ? " of the whole installation" : "";
      return {
        allowed: false,
        reply: `The budget of ${usedUp.limit} is used up until ${usedUp.resets}, and only an administrator${whose} can extend it. Please ask one, or write “continue” after that.`,
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
      if (paused?.turn !== turn) return { kind: "ignored", why: "the work has continued since" };
      const permission = await grant(paused, author, thread);
      if (!permission.allowed) return { kind: "refused", reply: permission.reply };
      const { id, name } = author;
      const message = {
        role: "user" as const,
        id: `${ref.message}~continue`,
        author: { id, name },
        text: "continue",
        at,
        ...(permission.paidBy !== undefined && { paidBy: permission.paidBy }),
      };
      const delivery = await deliver(redis, thread, message, {
        ...{ onlyIfSession: true, mayOverflow: true, now: options.now() },
      });
      const isFirst = delivery.kind === "accepted";
      if (isFirst && permission.auditEvent) audit(permission.auditEvent);
      await queue.wake(thread);
      return { kind: "acted", thread, ...(!isFirst && { unchanged: true }) };
    },

    async askPermission({ thread: place, author }) {
      const thread = threadId(place);
      const paused = await readPausedTurn(redis, thread);
      return paused ? grant(paused, author, thread) : { allowed: true };
    },
  };
}
