import { RateLimitError, type REST, Routes } from "discord.js";
import { z } from "zod";
import type { MarkOptions, MessageMark, ShownMark } from "../../../chat/outbound.ts";
import { chooseReactions } from "../../../chat/reactions.ts";
import type { MessageRef } from "../../../chat/threads.ts";
import { locateMessage } from "../connection/ids.ts";

export const defaultEmoji: Record<ShownMark, string> = {
  taken: "👀",
  waiting: "⏳",
  answered: "✅",
  stopped: "🛑",
  paused: "⏸️",
  failed: "⚠️",
};

/** The emoji for the place of a waiting message; the last one stands for every later place. */
export const placeEmoji = [...Array.from({ length: 9 }, (_, index) => `${index + 1}\ufe0f\u20e3`), "🔟"];

const reactionsSchema = z.object({
  reactions: z
    .array(z.object({ me: z.boolean(), emoji: z.object({ name: z.string().nullish() }) }))
    .default([]),
});

const remembered = 10_000;

/** Our reactions to a message, as far as this process has shown them last. */
export type ShownReactions = Map<string, Set<string>>;

/**
 * Adds the reaction of the mark and removes our others. Which there are is asked only where this process does not know:
 * whoever shows an earlier mark too late corrects it.
 */
export async function showMark(
  rest: REST,
  { emoji, shown }: { emoji: Record<ShownMark, string>; shown: ShownReactions },
  ref: MessageRef,
  mark: MessageMark,
  options: MarkOptions,
): Promise<void> {
  const { where, message } = locateMessage(ref);
  const own = (name: string) => Routes.channelMessageOwnReaction(where, message, encodeURIComponent(name));
  const wanted = chooseReactions({ marks: emoji, places: placeEmoji }, mark, options);
  const current =
    options.isFirst && !options.place
      ? new Set<string>()
      : (shown.get(message) ?? (await fetchOwnReactions(rest, where, message)));
  // What became of a call that broke is not known.
  shown.delete(message);
  try {
    for (const next of wanted) {
      if (current.has(next)) continue;
      await rest.put(own(next));
      current.add(next);
    }
    for (const earlier of [...Object.values(emoji), ...placeEmoji]) {
      if (wanted.includes(earlier) || !current.has(earlier)) continue;
      await rest.delete(own(earlier));
      current.delete(earlier);
    }
    remember(shown, message, current);
  } catch (error) {
    // Discord allows few reactions at once: the retry continues from here.
    if (error instanceof RateLimitError) remember(shown, message, current);
    throw error;
  }
}

function remember(shown: ShownReactions, message: string, current: Set<string>): void {
  shown.set(message, current);
  const [oldest] = shown.keys();
  if (shown.size > remembered && oldest !== undefined) shown.delete(oldest);
}

async function fetchOwnReactions(rest: REST, where: string, message: string): Promise<Set<string>> {
  const { reactions } = reactionsSchema.parse(await rest.get(Routes.channelMessage(where, message)));
  return new Set(reactions.flatMap((reaction) => (reaction.me ? (reaction.emoji.name ?? []) : [])));
}
