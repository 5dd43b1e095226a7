import { randomUUID } from "node:crypto";
import type { Redis } from "ioredis";
import { z } from "zod";
import type { MarkOptions, MessageMark } from "../../chat/outbound.ts";
import { messageMarkSchema } from "../../chat/schemas.ts";
import { type ChatSurface, SurfaceError } from "../../chat/surface.ts";
import type { MessageRef } from "../../chat/threads.ts";
import { failpoint } from "../redis/failpoint.ts";
import { daySeconds, keys } from "../redis/keys.ts";
import { loadScript } from "../redis/script.ts";
import type { RateLimiter } from "./rate-limit.ts";
import { wait } from "./wait.ts";

const markScript = loadScript(new URL("scripts/mark.lua", import.meta.url));
/** The mark that holds, how many others write, the mark before, and the rank of what holds. */
const markReply = z.tuple([
  messageMarkSchema,
  z.int(),
  z.union([messageMarkSchema, z.literal("")]),
  z.coerce.number(),
]);

const final = 2;
const rank: Record<MessageMark, number> = {
  waiting: 0,
  taken: 1,
  answered: final,
  stopped: final,
  failed: final,
};
/** Of an end that people can still have gone on with: its mark comes before any other end, also where it is the same. */
const pausedEnd = 1.5;

function rankOf(mark: MessageMark, paused = false): number {
  return paused && rank[mark] === final ? pausedEnd : rank[mark];
}

/** Who writes says so again well before: only one that was killed, or stands still, is taken for dead. */
const aliveMs = 3_000;
const lookAgainMs = 500;

/**
 * Shows the state of somebody's message. Several processes mark the same message, and a slow one must not put an
 * earlier state over a later one. Whoever has written therefore looks whether it still holds, and if not writes
 * again; if it has to leave before, it notes what is shown. It may die before it looks: so the one that shows the end
 * looks until nobody else is writing.
 *
 * @param how.place see `MarkOptions`
 * @param how.paused see `MarkOptions`; false where the mark may be shown so, and is not to be any more
 * @param how.isNew nobody can have shown this mark before: it is not looked whether somebody has
 */
export async function markMessage(
  { redis, output, surface }: { redis: Redis; output: RateLimiter; surface: ChatSurface },
  ref: MessageRef,
  mark: MessageMark,
  signal: AbortSignal,
  how: MarkHow = {},
): Promise<void> {
  const ownRank = rankOf(mark, how.paused);
  const isEnd = ownRank === final;
  const urgency = mark === "waiting" ? "waiting" : "mark";
  if (!isEnd && (await isShown(redis, ref, mark, how))) return;
  const state = openMarkState(redis, ref, mark, ownRank);
  /** Asked for beside the budget: people wait for the first mark to know that they were heard. */
  let ahead = how.isNew ? { at: performance.now(), answer: state.raise(aliveMs) } : undefined;
  ahead?.answer.catch(() => undefined);
  const raise = () => {
    const fresh = ahead && performance.now() - ahead.at < aliveMs / 3 ? ahead.answer : undefined;
    ahead = undefined;
    return fresh ?? state.raise(aliveMs);
  };
  let hasWritten = false;
  const write = async (): Promise<{ mark: MessageMark; rank: number }> => {
    const [now, , before, nowRank] = await raise();
    const isOwn = now === mark && nowRank === ownRank;
    // Whoever has raised it shows it.
    if (!isOwn && !isEnd && !hasWritten) return { mark: now, rank: nowRank };
    hasWritten = true;
    const renewing = setInterval(() => void state.raise(aliveMs).catch(() => undefined), aliveMs / 3);
    try {
      // An end comes after another mark, which may have been forgotten since.
      const shown = {
        ...(isOwn && toMarkOptions(mark, how)),
        isFirst: before === "" && !isEnd,
      };
      await failpoint("mark", () => surface.mark(ref, now, shown));
    } catch (error) {
      // Somebody has deleted it: there is nothing to be marked, and nothing wrong.
      if (!(error instanceof SurfaceError && error.kind === "gone")) throw error;
    } finally {
      clearInterval(renewing);
    }
    return { mark: now, rank: nowRank };
  };
  let isWrong = false;
  try {
    for (;;) {
      const shown = await output.write(surface, ref, urgency, signal, write);
      const [now, writers, before, nowRank] = await state.raise(isEnd ? 0 : aliveMs, shown.mark);
      isWrong = now !== shown.mark || nowRank !== shown.rank || now !== before;
      const others = isEnd ? writers : 0;
      if (!isWrong && others === 0) return;
      await waitForOthers(state, others, signal);
    }
  } finally {
    if (isWrong) await redis.del(keys.marked(ref));
    await state.leave();
  }
}

interface MarkHow {
  place?: number | undefined;
  paused?: boolean | undefined;
  isNew?: boolean;
}

function toMarkOptions(mark: MessageMark, { place, paused }: MarkHow): MarkOptions {
  return { ...(mark === "waiting" && place && { place }), ...(paused && { paused }) };
}

/** Whoever worked on the message before has shown it: a call less. Only the end is worth making sure of. */
async function isShown(
  redis: Redis,
  ref: MessageRef,
  mark: MessageMark,
  { place, paused, isNew = false }: MarkHow,
): Promise<boolean> {
  if (isNew || place !== undefined || paused !== undefined) return false;
  return (await redis.get(keys.marked(ref))) === `${rank[mark]}:${mark}`;
}

/** Resolves when nobody else writes the mark. @throws the signal's reason when it is aborted */
async function waitForOthers(
  state: ReturnType<typeof openMarkState>,
  others: number,
  signal: AbortSignal,
): Promise<void> {
  for (let left = others; left > 0; [, left] = await state.raise(0)) {
    await wait(lookAgainMs, signal);
  }
}

/** The state of a message's mark in Redis, for one writer of it. */
function openMarkState(redis: Redis, ref: MessageRef, mark: MessageMark, ownRank: number) {
  const writer = randomUUID();
  /** Whether others take this writer for one that writes. */
  let isListed = false;
  /**
   * Raises the state to the mark. @param written what this writer has shown: where that still holds it is done
   * @returns the mark that holds now, how many others are writing, and the mark that held before
   */
  const raise = async (writingMs: number, written: MessageMark | "" = "") => {
    if (writingMs > 0) isListed = true;
    // See the header of mark.lua; the mark is one of those that it was given.
    const answer = markReply.parse(
      await markScript.run(
        redis,
        [keys.marked(ref), keys.marking(ref)],
        [mark, ownRank, daySeconds, writer, writingMs, written],
      ),
    );
    const [now, , before] = answer;
    if (writingMs === 0 || (now === written && before === written)) isListed = false;
    return answer;
  };
  return {
    raise,
    async leave(): Promise<void> {
      if (isListed) await raise(0);
    },
  };
}
