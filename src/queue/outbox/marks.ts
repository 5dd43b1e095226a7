import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Redis } from "ioredis";
import { z } from "zod";
import type { MessageMark } from "../../chat/outbound.ts";
import { messageMarkSchema } from "../../chat/schemas.ts";
import type { ChatSurface } from "../../chat/surface.ts";
import type { MessageRef } from "../../chat/threads.ts";
import { failpoint } from "../redis/failpoint.ts";
import { keys } from "../redis/keys.ts";
import { loadScript } from "../redis/script.ts";
import type { RateLimiter } from "./rate-limit.ts";

const markScript = loadScript(new URL("scripts/mark.lua", import.meta.url));
/** The mark that holds, how many others write, and the mark before. */
const markReply = z.tuple([messageMarkSchema, z.int(), z.union([messageMarkSchema, z.literal("")])]);

const final = 2;
const rank: Record<MessageMark, number> = {
  waiting: 0,
  taken: 1,
  answered: final,
  stopped: final,
  failed: final,
};
const daySeconds = 86_400;

/** Who writes says so again well before: only one that was killed, or stands still, is taken for dead. */
const aliveMs = 3_000;
const lookAgainMs = 500;

/**
 * Shows the state of somebody's message. Several processes mark the same message, and a slow one must not put an
 * earlier state over a later one. Whoever has written therefore looks whether it still holds, and if not writes
 * again; if it has to leave before, it notes what is shown. It may die before it looks: so the one that shows the end
 * looks until nobody else is writing.
 *
 * @param place see `MarkOptions`
 */
export async function markMessage(
  { redis, output, surface }: { redis: Redis; output: RateLimiter; surface: ChatSurface },
  ref: MessageRef,
  mark: MessageMark,
  signal: AbortSignal,
  place?: number,
): Promise<void> {
  const isEnd = rank[mark] === final;
  const urgency = mark === "waiting" ? "waiting" : "mark";
  // Whoever worked on the message before has shown it: a call less. Only the end is worth making sure of.
  const isKnown = async () => (await redis.get(keys.marked(ref))) === `${rank[mark]}:${mark}`;
  if (!isEnd && place === undefined && (await isKnown())) return;
  const writer = randomUUID();
  const state = async (writingMs: number) =>
    markReply.parse(
      await markScript.run(
        redis,
        [keys.marked(ref), keys.marking(ref)],
        [mark, rank[mark], daySeconds, writer, writingMs],
      ),
    );
  let hasWritten = false;
  const write = async (): Promise<MessageMark> => {
    const [now, , before] = await state(aliveMs);
    // Whoever has raised it shows it.
    if (now !== mark && !isEnd && !hasWritten) return now;
    hasWritten = true;
    const renewing = setInterval(() => void state(aliveMs).catch(() => undefined), aliveMs / 3);
    try {
      // An end comes after another mark, which may have been forgotten since.
      const shown = { ...(now === "waiting" && place && { place }), isFirst: before === "" && !isEnd };
      await failpoint("mark", () => surface.mark(ref, now, shown));
    } finally {
      clearInterval(renewing);
    }
    return now;
  };
  let isWrong = false;
  try {
    for (;;) {
      const shown = await output.write(surface, ref, urgency, signal, write);
      const [now, writers, before] = await state(isEnd ? 0 : aliveMs);
      isWrong = now !== shown || now !== before;
      let others = isEnd ? writers : 0;
      if (!isWrong && others === 0) return;
      while (others > 0) {
        await delay(lookAgainMs, undefined, { signal }).catch(() => {
          throw signal.reason;
        });
        [, others] = await state(0);
      }
    }
  } finally {
    if (isWrong) await redis.del(keys.marked(ref));
    await state(0);
  }
}
