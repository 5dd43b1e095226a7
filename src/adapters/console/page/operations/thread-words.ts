/** A thread in words. */
import type { ThreadLine } from "../../../../operations/finding.ts";

const platformNames: Readonly<Record<string, string>> = {
  slack: "Slack",
  discord: "Discord",
  local: "console",
};

/** A platform as people write it, by what it is called in ids. */
export function namePlatform(platform: string): string {
  return platformNames[platform] ?? platform;
}

/** Where it is and who began it: by their names, or the channel by its id where its name is not known. */
export function placeOf({ thread, platform, channel, author }: ThreadLine): string {
  const [, , id = ""] = thread.split(":");
  const place = platform === "local" ? [] : [channel ?? id];
  return [namePlatform(platform), ...place, author].join(" · ");
}

/** A thread may begin with nothing but a mention. */
export function titleOf({ title }: ThreadLine): string {
  return title || "(no text)";
}
