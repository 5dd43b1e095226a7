import { randomUUID } from "node:crypto";
import type { Redis } from "ioredis";
import type { Author, InboundAction, InboundMessage, IntakeResult } from "../chat/inbound.ts";
import { type ThreadId, threadId, type ThreadRef } from "../chat/threads.ts";
import { daySeconds, keys } from "../queue/redis/keys.ts";
import type { TurnQueue } from "../queue/turns/wake-queue.ts";
import { readUndoAction } from "../queue/undo/messages.ts";
import { orderUndo, readUndoState, type UndoState } from "../queue/undo/order.ts";
import type { UndoOrder } from "../queue/undo/stored.ts";
import type { Access } from "./access.ts";
import type { UndoCommand } from "./text-commands/undo.ts";

/** Somebody had turns undone, or took that back. `turns`: ids, the newest first. */
export type UndoAuditEvent =
  | { action: "turns-undone"; thread: ThreadId; turns: string[]; by: Author }
  | { action: "undo-taken-back" | "thread-forked"; thread: ThreadId; by: Author };

export interface UndoingOptions {
  redis: Redis;
  queue: Pick<TurnQueue, "wake">;
  mayUndo: Access["mayUndo"];
  audit(event: UndoAuditEvent): void;
  now(): number;
}

/** Takes what people say of undoing; a worker of the thread does it, see `queue/undo/carry-out.ts`. */
export interface Undoing {
  command(event: InboundMessage, command: UndoCommand): Promise<IntakeResult>;
  /** A press of one of its buttons; undefined for other buttons. */
  press(event: InboundAction): Promise<IntakeResult | undefined>;
}

/** An order that a worker is carrying out is not replaced for so long, ms. */
const carriedOutMs = 60_000;

export function createUndoing(options: UndoingOptions): Undoing {
  const { redis, queue, mayUndo, audit, now } = options;

  const order = async (
    thread: ThreadId,
    state: UndoState,
    given: Pick<UndoOrder, "do" | "turns"> & Partial<Pick<UndoOrder, "id" | "plan" | "turn">>,
    { id, name }: Author,
  ): Promise<boolean> => {
    const complete: UndoOrder = { v: 1, id: randomUUID().slice(0, 8), by: { id, name }, at: now(), ...given };
    const isFirst = await orderUndo(redis, thread, complete, state.read);
    await queue.wake(thread);
    return isFirst;
  };

  const redo = async (place: ThreadRef, author: Author, id?: string): Promise<IntakeResult> => {
    const thread = threadId(place);
    const state = await readUndoState(redis, thread);
    const obstacle = state && findObstacle(state, now());
    if (!state?.redo || (id !== undefined && state.redo.id !== id))
      return { kind: "refused", reply: "There is no undo that could be taken back." };
    if (obstacle !== undefined) return { kind: "refused", reply: obstacle };
    if (!mayUndo(place, author, state.redo.askers)) return { kind: "refused", reply: notAllowed };
    const isFirst = await order(thread, state, { do: "redo", turns: 1 }, author);
    if (isFirst) audit({ action: "undo-taken-back", thread, by: author });
    return { kind: "acted", thread, reply: "I take the undo back.", ...(!isFirst && { unchanged: true }) };
  };

  const showOrFork = async (
    { thread: place, author }: Pick<InboundMessage, "thread" | "author">,
    { do: asked, ...which }: ShownOrForked,
  ): Promise<IntakeResult> => {
    const thread = threadId(place);
    const state = await readUndoState(redis, thread);
    if (!state)
      return { kind: "refused", reply: `There is nothing to ${asked} here: ask me for something first.` };
    const obstacle = findObstacle(state, now());
    if (obstacle !== undefined) return { kind: "refused", reply: obstacle };
    const isFork = asked === "fork";
    const isFirst = await order(thread, state, { do: isFork ? "fork" : "show", ...which }, author);
    if (isFork && isFirst) audit({ action: "thread-forked", thread, by: author });
    // The console's threads are in no channel that people know of.
    const where = place.platform === "local" ? "" : " in this channel";
    const reply = isFork
      ? `I begin a new thread${where} with a copy of conversation and files.`
      : "I look at what that would change, and then ask in the thread.";
    return { kind: "acted", thread, reply, ...(!isFirst && { unchanged: true }) };
  };

  /** What somebody says to an undo that was shown. */
  const decide = async (
    { thread: place, author }: InboundAction,
    button: "undo" | "dismiss",
    shownId: string,
  ): Promise<IntakeResult> => {
    const thread = threadId(place);
    const state = await readUndoState(redis, thread);
    const shown = state?.order;
    if (!state || !shown?.plan || shown.id !== shownId || shown.do !== "shown")
      return { kind: "ignored", why: "that was decided before, or is not asked any more" };
    if (!mayUndo(place, author, shown.plan.askers)) return { kind: "refused", reply: notAllowed };
    const obstacle = button === "undo" ? findObstacle(state, now()) : undefined;
    if (obstacle !== undefined) return { kind: "refused", reply: obstacle };
    const { id, turns, plan } = shown;
    const isFirst = await order(thread, state, { id, do: button, turns, plan }, author);
    if (isFirst && button === "undo")
      audit({ action: "turns-undone", thread, turns: plan.turns, by: author });
    return { kind: "acted", thread, ...(!isFirst && { unchanged: true }) };
  };

  return {
    async command(event, command) {
      // The same mention may be told twice, and would ask twice.
      const key = keys.replied({ ...event.ref, message: `${event.ref.message}~undo` });
      if (await redis.exists(key)) return { kind: "duplicate" };
      const result = await (command.do === "redo"
        ? redo(event.thread, event.author)
        : showOrFork(event, command));
      await redis.set(key, "1", "EX", daySeconds);
      return result;
    },

    async press(event) {
      const pressed = readUndoAction(event.action);
      if (!pressed) return undefined;
      switch (pressed.button) {
        case "ask":
          return showOrFork(event, { do: "undo", turns: 1, turn: pressed.id });
        case "redo":
          return redo(event.thread, event.author, pressed.id);
        case "undo":
        case "dismiss":
          return decide(event, pressed.button, pressed.id);
      }
    },
  };
}

/** `turn`: all turns from this one on, in place of a number. */
type ShownOrForked = Exclude<UndoCommand, { do: "redo" }> & Pick<UndoOrder, "turn">;

const notAllowed = "You may not undo this: only the person who asked for it, or an administrator.";

/** Why nothing can be undone at the moment. */
function findObstacle({ isRunning, isWaiting, order }: UndoState, now: number): string | undefined {
  if (isRunning) return "Work is under way here. Stop it first (`stop`), then ask again.";
  if (isWaiting) return "Messages wait in this thread. Ask again once I have worked on them.";
  const isOrdered = order !== undefined && order.do !== "shown" && now - order.at < carriedOutMs;
  return isOrdered ? "An undo is under way here already." : undefined;
}
