import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Redis } from "ioredis";
import type { ChatSurface, MessageMark, MessageRef } from "../adapters/adapter.ts";
import { faultPoint } from "./fault.ts";
import { keys } from "./keys.ts";
import type { OutputScheduler } from "./output.ts";
import { scripts } from "./scripts.ts";

const final = 2;
const rank: Record<MessageMark, number> = {
  waiting: 0,
  taken: 1,
  answered: final,
  stopped: final,
  failed: final,
};
const daySeconds = 86_400;

/** Longer than a surface tries to set one mark. */
const deadMs = 30_000;
const lookAgainMs = 500;

/**
 * Shows the state of somebody's message. Several processes mark the same message, and a slow one must not put an
 * earlier state over a later one. Whoever has written therefore looks whether it still holds, and if not writes
 * again. It may die before it looks: so the one that shows the end looks until nobody else is writing.
 *
 * @param place see `ChatSurface.mark`
 */
export async function markMessage(
  { redis, output, surface }: { redis: Redis; output: OutputScheduler; surface: ChatSurface },
  ref: MessageRef,
  mark: MessageMark,
  signal: AbortSignal,
  place?: number,
): Promise<void> {
  // The door has shown it, or does at this moment: a call less. Only the end is worth making sure of.
  if (rank[mark] < final && (await redis.get(keys.marked(ref))) === `${rank[mark]}:${mark}`) return;
  const writer = randomUUID();
  const state = async (writingMs: number) =>
    // See the header of mark.lua; the mark is one of those that it was given.
    (await scripts.mark.run(
      redis,
      [keys.marked(ref), keys.marking(ref)],
      [mark, rank[mark], daySeconds, writer, writingMs],
    )) as [MessageMark, number];
  const write = async (): Promise<MessageMark> => {
    const [now] = await state(deadMs);
    await faultPoint("mark", () => surface.mark(ref, now, now === "waiting" ? place : undefined));
    return now;
  };
  // Once something is written it must be put right, whoever wants to leave by then.
  const never = new AbortController().signal;
  let patience = signal;
  try {
    for (;;) {
      const shown = await output.write(surface, ref, "mark", patience, write);
      const [now, others] = await state(0);
      patience = never;
      if (now !== shown) continue;
      if (rank[mark] < final || others === 0) return;
      await delay(lookAgainMs, undefined, { signal }).catch(() => {
        throw signal.reason;
      });
    }
  } finally {
    await state(0);
  }
}
