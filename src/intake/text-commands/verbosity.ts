import type { Verbosity } from "../../queue/session/verbosity.ts";

const word = /^[/!](quiet|normal|full)$/i;

/** The order that the whole message is, if it is one (`/quiet`, `!full`): Slack keeps a leading slash to itself. */
export function readVerbosityCommand(text: string): Verbosity | undefined {
  switch (word.exec(text.trim())?.[1]?.toLowerCase()) {
    case "quiet":
      return "quiet";
    case "normal":
      return "normal";
    case "full":
      return "full";
    default:
      return undefined;
  }
}

/** What the person reads about it. */
export const verbosityReply: Record<Verbosity, string> = {
  quiet: "From the next task on I show only the answer here.",
  normal: "From the next task on I show what I am doing here.",
  full: "From the next task on I show each tool call with the start of its result here.",
};
