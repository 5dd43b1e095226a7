import type { MarkOptions, MessageMark, ShownMark } from "./outbound.ts";

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
