import type { Verbosity } from "../../queue/session/choices/verbosity.ts";

const pattern = /^[/!](quiet|normal|full)$/i;

/** The verbosity that the whole message asks for (`/quiet`; `!full`, as Slack keeps a leading slash for itself). */
export function readVerbosityCommand(text: string): Verbosity | undefined {
  switch (pattern.exec(text.trim())?.[1]?.toLowerCase()) {
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

/** The reply to each of them. */
export const verbosityReply: Record<Verbosity, string> = {
  quiet: "From the next task on, I show only the answer here.",
  normal: "From the next task on, I show here what I am doing.",
  full: "From the next task on, I show each tool call here, with the start of its result.",
};
