import type { types } from "@slack/bolt";
import type { BaseLogger } from "pino";
import type { DayBudgets, RecentThread, RecentThreads } from "../../../chat/home.ts";
import { makeTitle } from "../../../chat/title.ts";
import type { TeamConnection } from "../connection/team.ts";
import { slashCommand } from "../installation/manifest.ts";
import { escapeMentions, escapeText, toMrkdwn } from "../surface/render.ts";

interface HomeOptions {
  recentThreads: RecentThreads;
  dayBudgets: DayBudgets;
  log: BaseLogger;
}

const titleChars = 120;

const stateLabels: Record<RecentThread["status"], string> = {
  running: "⏳ working",
  waiting: "⌛ waiting",
  idle: "✅ idle",
};

const introduction = `Mention me in a channel, write to me in *Messages*, or use \`${slashCommand} <task>\`.`;

/**
 * Fills a person's home tab with the threads that they have begun and with their budget for today. It is a courtesy: a
 * failure is only logged.
 */
export async function showHome(
  team: TeamConnection,
  person: string,
  { recentThreads, dayBudgets, log }: HomeOptions,
): Promise<void> {
  try {
    const threads = await recentThreads.of("slack", team.identity.teamId, person);
    const budgets = await dayBudgets.of("slack", team.identity.teamId, person);
    const lines = await Promise.all(threads.map((thread) => renderLine(team, thread)));
    const blocks: types.KnownBlock[] = [
      { type: "header", text: { type: "plain_text", text: "Your recent threads" } },
      ...(lines.length > 0 ? lines : [section("There are none yet.")]),
      ...(budgets.length > 0 ? [section(`*Your budget today:* ${budgets.join(", ")}`)] : []),
      { type: "context", elements: [toMrkdwn(introduction)] },
    ];
    await team.client.views.publish({ user_id: person, view: { type: "home", blocks } });
  } catch (error) {
    log.warn({ err: error }, "The home tab of a person could not be shown.");
  }
}

async function renderLine(
  team: TeamConnection,
  { thread, beginning, status, activeAt }: RecentThread,
): Promise<types.SectionBlock> {
  const link = await team.client.chat
    .getPermalink({ channel: thread.channel, message_ts: thread.thread })
    .catch(() => undefined);
  const text =
    escapeText(escapeMentions(makeTitle(beginning, titleChars))).replaceAll("|", "¦") || "(no text)";
  const linked = link?.permalink ? `<${link.permalink}|${text}>` : text;
  const fallback = `${new Date(activeAt).toISOString().slice(0, 16).replace("T", " ")} UTC`;
  const date = `<!date^${Math.floor(activeAt / 1_000)}^{date_short_pretty} {time}|${fallback}>`;
  return section(`${linked}\n${stateLabels[status]} · ${date}`);
}

function section(text: string): types.SectionBlock {
  return { type: "section", text: toMrkdwn(text) };
}
