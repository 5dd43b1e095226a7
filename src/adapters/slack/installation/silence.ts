import { pino } from "pino";
import { createWebClient } from "../connection/web.ts";
import { checkSlack } from "./check.ts";

/** Why nothing may arrive that no call tells. */
export const unseenReasonsAtSlack =
  "Is it the workspace in which the app is installed? Does another Heddle run with these tokens? Slack sends each event to one of them only. Otherwise compare Event Subscriptions of the app with `heddle manifest slack`: app_mention and message.channels must be there, and the app is installed again after a change.";

const inNoChannel =
  "The bot is in no channel yet: write /invite and its name in one, or write to it directly under Apps.";

/** What Slack tells of why nothing may arrive: a sentence for each, with what to do. */
export async function findReasonsOfSilence(options: Parameters<typeof checkSlack>[0]): Promise<string[]> {
  const { teams, apiUrl } = options;
  const findings = await checkSlack(options);
  const told = findings.flatMap(({ level, text }) => (["error", "warning"].includes(level) ? [text] : []));
  if ("client" in teams || findings.some(({ level }) => level === "error")) return told;
  const access = { botToken: teams.botToken, ...(apiUrl !== undefined && { apiUrl }) };
  const client = createWebClient({ ...access, log: pino({ level: "silent" }) }, { timeoutMs: 8_000 });
  const types = "public_channel,private_channel";
  // Without the scope for it, which is among what was told.
  const joined = await client.users
    .conversations({ types, exclude_archived: true, limit: 100 })
    .catch(() => undefined);
  const isAlone = joined?.channels?.length === 0 && !joined.response_metadata?.next_cursor;
  return isAlone ? [...told, inNoChannel] : told;
}
