import { readNetworkCode } from "../../agent/network/network-code.ts";
import type { CommandContext } from "../../app/command-context.ts";
import type { Finding } from "../../chat/adapter.ts";
import { patienceMs } from "./check.ts";

/** Beyond this a stop may miss what it was meant for, and Slack's signed requests soon count as too old. */
const toleratedMs = 5_000;

/** How far the clock of an HTTP server is ahead of ours, in milliseconds, give or take a second. */
export async function httpClockAheadMs(url: string, signal: AbortSignal): Promise<number> {
  const asked = Date.now();
  const { headers } = await fetch(url, { method: "HEAD", signal, redirect: "manual" });
  const said = Date.parse(headers.get("date") ?? "");
  if (Number.isNaN(said)) throw new Error("it sends no date");
  // The header has whole seconds, cut off.
  return said + 500 - (asked + Date.now()) / 2;
}

/** What a difference between two clocks means. @param whose such as `Redis` */
export function checkClockSkew(whose: string, aheadMs: number): Finding {
  const seconds = Math.abs(aheadMs / 1_000).toFixed(1);
  if (Math.abs(aheadMs) <= toleratedMs)
    return { level: "ok", text: `within ${toleratedMs / 1_000} s of ${whose}'s` };
  const side = aheadMs > 0 ? "behind" : "ahead of";
  const text = `This machine's clock is ${seconds} s ${side} ${whose}'s: synchronise it (\`timedatectl set-ntp true\`), or stops and schedules miss their moment.`;
  return { level: "warning", text };
}

/** Against the platforms in use; the times of messages and stops are theirs. */
export async function checkClock(
  { config: { environment } }: CommandContext,
  signal: AbortSignal,
): Promise<Finding[]> {
  const { SLACK_BOT_TOKEN, SLACK_CLIENT_ID, SLACK_API_URL, DISCORD_TOKEN, DISCORD_API_URL } = environment;
  const soon = AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]);
  const servers = [
    ...(SLACK_BOT_TOKEN || SLACK_CLIENT_ID ? [["Slack", SLACK_API_URL ?? "https://slack.com/api/"]] : []),
    ...(DISCORD_TOKEN ? [["Discord", DISCORD_API_URL ?? "https://discord.com/api"]] : []),
  ];
  if (servers.length === 0) return [{ level: "note", text: "no chat platform to compare it with" }];
  return await Promise.all(
    servers.map(async ([name = "", url = ""]): Promise<Finding> => {
      try {
        return checkClockSkew(name, await httpClockAheadMs(url, soon));
      } catch (error) {
        const why = readNetworkCode(error) ?? (soon.aborted ? "no answer in time" : String(error));
        return { level: "note", text: `could not be compared with that of ${name} (${why})` };
      }
    }),
  );
}
