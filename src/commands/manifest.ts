import { parseArgs } from "node:util";
import { UsageError } from "./setup.ts";

/** Prints what a platform's admin pastes to create the app. */
export async function command(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    options: { url: { type: "string" } },
    allowPositionals: true,
  });
  if (positionals.length !== 1 || positionals[0] !== "slack") {
    throw new UsageError("Say which platform: heddle manifest slack.");
  }
  const { url } = values;
  if (url !== undefined && URL.parse(url)?.protocol !== "https:") {
    throw new UsageError(`--url ${url}: expected the https address at which Slack reaches Heddle.`);
  }
  const { slackManifest } = await import("../adapters/slack/manifest.ts");
  process.stdout.write(`${slackManifest(url === undefined ? {} : { url })}\n`);
  return 0;
}
