import type { MarkOptions, MessageMark, ShownMark } from "./outbound.ts";
import type { ChatSurface } from "./surface.ts";

/** The reactions that show a mark, as a platform calls them: its own, and that of the place of a message that waits. */
export function chooseReactions(
  { marks, places }: { marks: Record<ShownMark, string>; places: readonly string[] },
  mark: MessageMark,
  { place, paused = false }: MarkOptions,
): string[] {
  const own = marks[paused ? "paused" : mark];
  // The last one stands for every later place.
  const position = place && own ? places[Math.min(place, places.length) - 1] : undefined;
  return [own, position ?? ""].filter((name) => name !== "");
}

/**
 * Makes marks of one message one after the other: each removes what it finds of earlier ones, so two at once would
 * leave both, or leave the earlier. Marks of different messages do not wait for each other.
 */
export function markInOrder(mark: ChatSurface["mark"]): ChatSurface["mark"] {
  const pending = new Map<string, Promise<void>>();
  return async (ref, state, options) => {
    const id = `${ref.channel}:${ref.message}`;
    const before = pending.get(id);
    const marking = (async () => {
      await before?.catch(() => undefined);
      await mark(ref, state, options);
    })();
    pending.set(id, marking);
    try {
      await marking;
    } finally {
      if (pending.get(id) === marking) pending.delete(id);
    }
  };
}
