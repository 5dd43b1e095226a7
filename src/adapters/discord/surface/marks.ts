import { type REST, Routes } from "discord.js";
import { z } from "zod";
import type { MarkOptions, MessageMark } from "../../../chat/outbound.ts";
import type { MessageRef } from "../../../chat/threads.ts";
import { locateMessage } from "../connection/ids.ts";

export const defaultEmoji: Record<MessageMark, string> = {
  taken: "👀",
  waiting: "⏳",
  answered: "✅",
  stopped: "🛑",
  failed: "⚠️",
};

/** The emoji for the place of a waiting message; the last one stands for every later place. */
export const placeEmoji = [...Array.from({ length: 9 }, (_, index) => `${index + 1}\ufe0f\u20e3`), "🔟"];

const reactionsSchema = z.object({
  reactions: z
    .array(z.object({ me: z.boolean(), emoji: z.object({ name: z.string().nullish() }) }))
    .default([]),
});

/** Adds the reaction of the mark and removes our others. */
export async function showMark(
  rest: REST,
  emoji: Record<MessageMark, string>,
  ref: MessageRef,
  mark: MessageMark,
  { place, isFirst }: MarkOptions,
): Promise<void> {
  const { where, message } = locateMessage(ref);
  const own = (name: string) => Routes.channelMessageOwnReaction(where, message, encodeURIComponent(name));
  const wanted = [
    emoji[mark],
    place && emoji[mark] ? placeEmoji[Math.min(place, placeEmoji.length) - 1] : "",
  ];
  if (isFirst && !place) {
    if (emoji[mark]) await rest.put(own(emoji[mark]));
    return;
  }
  // Looked up first, because Discord allows few reactions at once: after a rate limit the retry continues from here.
  const { reactions } = reactionsSchema.parse(await rest.get(Routes.channelMessage(where, message)));
  const current = new Set(reactions.flatMap((reaction) => (reaction.me ? (reaction.emoji.name ?? []) : [])));
  for (const next of wanted) if (next && !current.has(next)) await rest.put(own(next));
  for (const earlier of [...Object.values(emoji), ...placeEmoji]) {
    if (!wanted.includes(earlier) && current.has(earlier)) await rest.delete(own(earlier));
  }
}
