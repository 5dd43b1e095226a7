import { z } from "zod";
import type { UserMessage } from "../agent/messages.ts";
import { formatInstant } from "../agent/contracts/schedule-store.ts";
import { escapeMarkdown } from "../chat/escape-markdown.ts";
import type { TriggerSettings } from "../config/triggers.ts";
import { daySeconds, keys } from "../queue/redis/keys.ts";
import { dropHeld, type HeldEvent, holdEvent, isHeld, listHeld } from "./held-events.ts";
import { takeFromHour } from "./hour-limit.ts";
import { takeFromWindow } from "./loop-limit.ts";
import {
  announce,
  type Arrival,
  type EventOptions,
  type EventResult,
  type Placing,
  putIntoThread,
  untilReplicated,
} from "./put-into-thread.ts";
import { findQuietEnd } from "./quiet-hours.ts";
import { fillKey, fillPrompt, fits, type HookEvent, isOwnWork } from "./template.ts";
import { createThreadsOfKeys } from "./thread-of-key.ts";
import { hash } from "./verify.ts";

export interface ReleaseOptions extends EventOptions {
  /** Resolves as `work` does once what it wrote is known to stay. @throws where that cannot be said */
  confirm<T>(work: Promise<T>): Promise<T>;
}

export interface GenuineEvent extends HookEvent {
  /** The same each time that it is delivered. */
  delivery: string;
}

/** GitHub gives up after ten seconds. */
export const patienceMs = 8_000;
/**
 * Puts an event that is genuine into the thread of its key, once, as a task of the person on whose behalf it comes,
 * and wakes the thread. Called again for the same delivery, also after a crash between any two steps, it ends what is
 * not done.
 */
export function createEventReceiver(options: EventOptions) {
  const threads = createThreadsOfKeys(options.redis, options.now);
  return (name: string, trigger: TriggerSettings, event: GenuineEvent): Promise<EventResult> =>
    untilReplicated(
      options,
      () => receive({ ...options, threads, name, trigger, event, signal: AbortSignal.timeout(patienceMs) }),
      // In a cluster, the slot of `keys.hookHeld`.
      `hook:${name}`,
    );
}

/**
 * Puts what waits of a trigger into its threads, in the order in which it came. What its person may not ask for any
 * more is dropped; what finds a full mailbox stays, for the next call.
 */
export function createHeldRelease(options: ReleaseOptions) {
  const threads = createThreadsOfKeys(options.redis, options.now);
  return async (name: string, trigger: TriggerSettings): Promise<void> => {
    for (const { delivery, event } of await listHeld(options.redis, name)) {
      const signal = AbortSignal.timeout(patienceMs);
      const of: Placing = { ...options, threads, name, trigger, signal };
      const isAllowed = await mayAsk(of);
      const { key } = event;
      // Only now does it come into its thread: a stop there before this was of something else.
      const message = { ...createMessage(name, trigger, event), at: options.now() };
      const arrival = { delivery, key, message };
      const put = () => untilReplicated(options, () => putIntoThread(of, arrival));
      const result = isAllowed && (await options.confirm(put()));
      if (!result || result.kind !== "too-many") await dropHeld(options.redis, name, delivery);
    }
  };
}

interface Receiving extends Placing {
  event: GenuineEvent;
}

async function receive(of: Receiving): Promise<EventResult> {
  const { redis, name, trigger, event, now } = of;
  if (!fits(trigger.when, event)) return { kind: "ignored" };
  if (isOwnWork(trigger.ownWork, event)) return dropOwnWork(of, `triggers.${name}.ownWork`);
  if (await isByOwnApp(of)) return dropOwnWork(of, `triggers.${name}.ownApp`);
  const { delivery } = event;
  const id = `hook-${name}-${delivery}`;
  const { threadKey, channel } = trigger;
  // The channel too: after it was changed in the settings, threads are opened there.
  const keyed = threadKey === undefined ? `delivery ${id}` : `key ${fillKey(threadKey, event)}`;
  const key = hash(`${channel} ${keyed}`);
  const task = { id, text: fillPrompt(trigger.prompt, event), at: now() };
  const message = createMessage(name, trigger, task);

  const thread = await redis.get(keys.hookDelivery(name, delivery));
  const isRepeated = thread !== null && (await redis.exists(keys.seen(thread, id))) === 1;
  const early = isRepeated ? undefined : await admit(of, { delivery, key, message }, task);
  return early ?? putIntoThread(of, { delivery, key, message });
}

/** Checks what is not in its thread yet against what the trigger may do now. @returns what else becomes of it */
async function admit(
  of: Receiving,
  { delivery, key, message }: Arrival,
  task: Pick<HeldEvent, "id" | "text" | "at">,
): Promise<EventResult | undefined> {
  const { redis, name, now } = of;
  const { quietHours, threadKey, channel, perHour } = of.trigger;
  const until = quietHours && findQuietEnd(quietHours, now());
  if (until !== undefined && (await isHeld(redis, name, delivery)))
    return { kind: "held", isNew: false, until };
  if (!(await mayAsk(of))) return { kind: "forbidden" };
  if (await isLooping(of, threadKey === undefined ? hash(channel) : key, message))
    return { kind: "dropped", why: "loop" };
  const retryAfterSeconds = await takeFromHour(of, { name, perHour, what: `the trigger ${name}` }, task.id);
  if (retryAfterSeconds > 0) return { kind: "too-many", retryAfterSeconds };
  return until === undefined ? undefined : hold(of, { version: 1, key, ...task }, until);
}

function createMessage(
  name: string,
  trigger: TriggerSettings,
  { id, text, at, ...more }: Pick<HeldEvent, "id" | "text" | "at"> & { key?: string },
): UserMessage {
  const waited = more.key === undefined ? "" : ` It came at ${formatInstant(at)}, in quiet hours.`;
  return {
    ...{ role: "user", id, author: trigger.onBehalfOf, at },
    text: `(This task comes from the trigger ${name}.${waited})\n\n${text}`,
    scheduled: true,
    trigger: name,
    ...(trigger.model !== undefined && { enclosed: { model: trigger.model } }),
  };
}

async function hold({ redis, name, event, now }: Receiving, held: HeldEvent, until: number) {
  const kind = await holdEvent(redis, name, event.delivery, held);
  if (kind !== "full") return { kind: "held", isNew: kind === "held", until } as const;
  return { kind: "too-many", retryAfterSeconds: Math.ceil((until - now()) / 1_000) } as const;
}

async function mayAsk({ name, trigger, mayAsk: ask, onProblem }: Placing): Promise<boolean> {
  const permission = await ask(`${trigger.channel}:none`, trigger.onBehalfOf);
  if (!permission.allowed) onProblem(`An event of the trigger ${name} was refused. ${permission.why}`);
  return permission.allowed;
}

const bySender = z.looseObject({ sender: z.looseObject({ login: z.string() }) });

/** Whether GitHub names the App that the agent works as for the one who has caused the event. */
async function isByOwnApp({ trigger, event, ownAccounts }: Receiving): Promise<boolean> {
  const { data } = bySender.safeParse(event.payload);
  if (trigger.verify !== "github" || trigger.ownApp === "take" || !data || !ownAccounts) return false;
  return (await ownAccounts()).has(data.sender.login.toLowerCase());
}

/** The log says so once a day, for what is dropped on purpose is easily taken for lost. */
async function dropOwnWork({ redis, name, onProblem }: Placing, setting: string): Promise<EventResult> {
  if (await redis.set(keys.hookOwnWork(name), "1", "EX", daySeconds, "NX"))
    onProblem(
      `An event of the trigger ${name} was dropped, since the agent's own work had caused it (${setting}).`,
    );
  return { kind: "dropped", why: "own-work" };
}

/** Whether the thread has been given all that the loop limit allows. The log and the thread are told once in its window. */
async function isLooping(of: Placing, key: string, { id }: UserMessage): Promise<boolean> {
  const { redis, name, threads, onProblem } = of;
  const limit = of.trigger.loopLimit;
  if (!limit) return false;
  const result = await takeFromWindow(redis, { trigger: name, key, message: id, limit, now: of.now() });
  if (!result.isBeyond) return false;
  if (!result.first) return true;
  const within = `${limit.events} events within ${limit.minutes} minutes`;
  const place = await threads.find(name, key);
  const where = place ? ` in ${place.thread}` : "";
  onProblem(
    `The trigger ${name} has brought ${within}${where}, its limit against loops: further ones are dropped until fewer have come.`,
  );
  if (place)
    await announce(of, place.thread, {
      id: `${id}-loop`,
      markdown: `🔁 Trigger ${escapeMarkdown(name)} has brought ${within}, its limit against loops. Further ones are dropped until fewer have come.`,
      what: `the trigger ${name}`,
    });
  return true;
}
