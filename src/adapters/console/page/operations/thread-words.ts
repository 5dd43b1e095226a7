/** A thread in words. */
import type { ThreadLine } from "../../../../operations/finding.ts";

/** As people write them, by what they are called in ids. */
export const platformNames: Readonly<Record<string, string>> = { slack: "Slack", discord: "Discord" };

/** Where it is and who began it: by their names, or the channel by its id where its name is not known. */
export function placeOf({ thread, platform, channel, author }: ThreadLine): string {
  const [, , id = ""] = thread.split(":");
  const place = platform === "local" ? ["console"] : [platform, channel ?? id];
  return [...place, author].join(" · ");
}

/** A thread may begin with nothing but a mention. */
export function titleOf({ title }: ThreadLine): string {
  return title || "(no text)";
}
