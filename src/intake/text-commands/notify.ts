import type { Redis } from "ioredis";
import type { InboundMessage } from "../../chat/inbound.ts";
import {
  fetchMentionChoice,
  type MentionChoice,
  setMentionChoice,
} from "../../queue/stores/mention-choices.ts";

/** A text command about whether the end of a turn mentions the person who writes it. */
export type NotifyCommand = MentionChoice | "default" | "show";

/** The whole message must be `!notify`, or that with `on`, `off` or `default`; a slash does as well where it is left to us. */
export function readNotifyCommand(text: string): NotifyCommand | undefined {
  const [all, word] = /^[/!]notify(?:\s+(on|off|default))?$/i.exec(text.trim()) ?? [];
  if (all === undefined) return undefined;
  switch (word?.toLowerCase()) {
    case "on":
      return "on";
    case "off":
      return "off";
    case "default":
      return "default";
    default:
      return "show";
  }
}

/** Runs the command for whoever wrote it, and gives the reply. */
export async function answerNotifyCommand(
  redis: Redis,
  { author, thread: { platform, workspace } }: Pick<InboundMessage, "author" | "thread">,
  command: NotifyCommand,
): Promise<string> {
  const person = { platform, workspace, id: author.id };
  if (command !== "show") {
    await setMentionChoice(redis, person, command === "default" ? undefined : command);
    return says[command];
  }
  const current = (await fetchMentionChoice(redis, person)) ?? "default";
  return `${says[current]} \`!notify on\`, \`!notify off\` and \`!notify default\` change that.`;
}

const says: Record<Exclude<NotifyCommand, "show">, string> = {
  on: "I mention you whenever something that you asked for has ended, in all threads.",
  off: "I never mention you when something that you asked for has ended. When I need your decision, I still do.",
  default: "I mention you when something that you asked for has ended if that is set up here for everybody.",
};
