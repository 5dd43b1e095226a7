import type { WebClient } from "@slack/web-api";
import type { MarkOptions, MessageMark, ShownMark } from "../../../chat/outbound.ts";
import { chooseReactions, markInOrder } from "../../../chat/reactions.ts";
import type { ChatSurface } from "../../../chat/surface.ts";
import type { MessageRef } from "../../../chat/threads.ts";
import { callSlack } from "./call.ts";

const defaultReactions: Record<ShownMark, string> = {
  taken: "eyes",
  waiting: "hourglass",
  answered: "white_check_mark",
  stopped: "octagonal_sign",
  paused: "double_vertical_bar",
  failed: "warning",
};

/** The reactions for the place of a waiting message; the last one stands for every later place. */
export const placeReactions = "one two three four five six seven eight nine keycap_ten".split(" ");

/**
 * Creates what shows marks as reactions.
 *
 * @param overrides reactions to use instead of the usual ones; "" for none
 */
export function createMarks(
  client: WebClient,
  overrides: Partial<Record<ShownMark, string>> = {},
): ChatSurface["mark"] {
  const reactions = { ...defaultReactions, ...overrides };
  return markInOrder((ref, mark, options = {}) => showMark(client, reactions, ref, mark, options));
}

/** Adds the reaction of the mark and removes those of the others. */
async function showMark(
  client: WebClient,
  reactions: Record<ShownMark, string>,
  ref: MessageRef,
  mark: MessageMark,
  options: MarkOptions,
): Promise<void> {
  const message = { channel: ref.channel, timestamp: ref.message };
  const wanted = chooseReactions({ marks: reactions, places: placeReactions }, mark, options);
  for (const name of wanted) {
    await callSlack("reactions.add", () => client.reactions.add({ ...message, name }), ["already_reacted"]);
  }
  if (options.isFirst) return;
  const current = await callSlack("reactions.get", () => client.reactions.get(message), [
    "missing_scope",
    "unknown_method",
  ]);
  // Without permission to look, we try to remove what most messages have had.
  const names = current?.message?.reactions?.map(({ name }) => name) ?? [
    reactions.taken,
    reactions.waiting,
    reactions.paused,
  ];
  for (const earlier of [...Object.values(reactions), ...placeReactions]) {
    if (earlier === "" || wanted.includes(earlier) || !names.includes(earlier)) continue;
    // `no_reaction`: only other people have used it.
    await callSlack("reactions.remove", () => client.reactions.remove({ ...message, name: earlier }), [
      "no_reaction",
    ]);
  }
}
