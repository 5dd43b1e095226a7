import { UsageError } from "./setup.ts";

/** Prints what a platform's admin pastes to create the app. */
export async function command(args: string[]): Promise<number> {
  if (args.length !== 1 || args[0] !== "slack")
    throw new UsageError("Say which platform: heddle manifest slack.");
  const { slackManifest } = await import("../adapters/slack/manifest.ts");
  process.stdout.write(`${slackManifest()}\n`);
  return 0;
}
