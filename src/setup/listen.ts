import { pino } from "pino";
import { createDiscordAdapter } from "../adapters/discord/adapter.ts";
import { createDiscordSurface } from "../adapters/discord/surface/surface.ts";
import { createSlackAdapter } from "../adapters/slack/adapter.ts";
import { resolveTransport } from "../adapters/slack/installation/resolve-teams.ts";
import { createSlackSurface } from "../adapters/slack/surface/surface.ts";
import type { ChatAdapter } from "../chat/adapter.ts";
import type { Downtime } from "../chat/downtime.ts";
import type { InboundEvent, InboundMessage, Intake } from "../chat/inbound.ts";
import type { ChatSurface } from "../chat/surface.ts";
import type { SetupContext, StepResult } from "./context.ts";

/** A platform that can be listened to. */
interface Platform {
  name: "Slack" | "Discord";
  adapter: ChatAdapter;
  surface: ChatSurface;
  /** Why nothing may arrive. */
  reasons: string;
}

/** Nobody's tasks are taken. */
const nothingToChoose = async () => ({ models: [], skills: [], prompts: [] });

/** Nothing is caught up on: whoever wrote earlier waits for the real start. */
const nobodyWaits: Downtime = {
  lastConnectedAt: async () => undefined,
  markConnected: async () => undefined,
  markListening: async () => undefined,
  markAway: async () => undefined,
  threads: async () => [],
  open: async () => [],
};

const log = pino({ level: "silent" });

/** Waits for a mention on each platform, answers it, and asks whether its author shall be the administrator. */
export async function listenForMention(
  context: SetupContext,
  isServing: () => Promise<boolean>,
): Promise<StepResult> {
  const { dialog } = context;
  const platforms = openPlatforms(context);
  if (platforms.length === 0) return { state: "skipped", text: "There is no chat platform to listen to." };
  const choice = await dialog.choose(
    "listen",
    "Should Heddle listen for a first mention, to check that it arrives?",
    [
      { value: "yes", label: "Yes" },
      { value: "no", label: "No" },
    ],
    { standard: "yes", unanswered: "no" },
  );
  if (choice !== "yes") return { state: "skipped", text: "Nobody has mentioned the bot yet." };
  if (await isServing()) {
    const text = "Heddle is running: start it again, so that it reads the new settings, and mention it.";
    return { state: "skipped", text };
  }
  const heard: string[] = [];
  for (const platform of platforms) {
    const mention = await hearOn(context, platform);
    if (!mention) continue;
    heard.push(platform.name);
    await offerAdministrator(context, mention);
  }
  return heard.length === platforms.length
    ? { state: "ready", text: `A mention arrived on ${heard.join(" and ")}.` }
    : { state: "waiting", text: "No mention arrived on every platform: `heddle setup listen` waits again." };
}

async function hearOn(context: SetupContext, platform: Platform): Promise<InboundMessage | undefined> {
  const { dialog } = context;
  for (;;) {
    const heard = await hearOnce(context, platform).catch((error: unknown) => {
      context.signal.throwIfAborted();
      dialog.say(`  ✗ ${error instanceof Error ? error.message : String(error)}`);
      return undefined;
    });
    if (heard) return heard;
    const next = await dialog.choose(
      "listen",
      "What next?",
      [
        { value: "again", label: "Listen again" },
        { value: "no", label: "Go on without" },
      ],
      { standard: "again", unanswered: "no" },
    );
    if (next !== "again") return undefined;
  }
}

/** Connects, waits for one mention, answers it and closes the connection. Gives undefined when none came in time. */
async function hearOnce(
  context: SetupContext,
  { name, adapter, surface, reasons }: Platform,
): Promise<InboundMessage | undefined> {
  const { dialog, signal, listenMs } = context;
  const mention = Promise.withResolvers<InboundMessage>();
  let isHeard = false;
  const intake: Intake = {
    async receive(event) {
      if (isHeard || !isMention(event)) return leaveToOthers(event);
      isHeard = true;
      mention.resolve(event);
      return { kind: "duplicate" };
    },
  };
  await adapter.start(intake);
  const over = new AbortController();
  try {
    dialog.say(
      `  ✓ Connected to ${name}. Mention the bot in a channel where it is, or write to it directly …`,
    );
    const heard = await Promise.race([
      mention.promise,
      waitFor(listenMs, AbortSignal.any([signal, over.signal])),
    ]);
    signal.throwIfAborted();
    if (!heard) {
      dialog.say(`  ✗ Nothing arrived within ${Math.round(listenMs / 1_000)} s. ${reasons}`);
      return undefined;
    }
    const where = await findPlaceName(surface, heard);
    const answer = {
      kind: "notice" as const,
      markdown: `I hear you in ${where}. The rest is said in the terminal.`,
    };
    await surface.post(heard.thread, answer, `setup:${heard.ref.message}`);
    dialog.say(`  ✓ I hear you in ${where}: ${heard.author.name} (${heard.author.id}) wrote that.`);
    return heard;
  } finally {
    over.abort();
    await adapter.stop();
  }
}

function isMention(event: InboundEvent): event is InboundMessage {
  return (
    event.kind === "message" &&
    ["mention", "direct"].includes(event.addressed) &&
    event.author.standing !== "bot"
  );
}

/**
 * What is not acknowledged is delivered again by Slack, to the Heddle that is started next. Discord knows no
 * acknowledgement; an error would only make the adapter tell people of an outage.
 */
function leaveToOthers(event: InboundEvent): { kind: "duplicate" } {
  const platform = "thread" in event ? event.thread.platform : "";
  if (platform === "slack") throw new Error("The set-up takes one mention and leaves the rest.");
  return { kind: "duplicate" };
}

function waitFor(ms: number, signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(undefined), ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve(undefined);
    });
    if (signal.aborted) resolve(undefined);
  });
}

async function findPlaceName(surface: ChatSurface, { thread }: InboundMessage): Promise<string> {
  const name = await surface.channelName?.(thread).catch(() => undefined);
  if (name === undefined) return `the channel ${thread.channel}`;
  return name === "direct messages" ? name : `#${name.replace(/^#/, "")}`;
}

/** Asked in the terminal: on the platform whoever writes first would win. */
async function offerAdministrator(context: SetupContext, { author, thread }: InboundMessage): Promise<void> {
  const { dialog } = context;
  const id = `${thread.workspace}:${author.id}`;
  const { administrators } = context.config().settings.access;
  if (administrators.includes(id) || administrators.includes(author.id)) return;
  const question = `Should ${author.name} (${author.id}) be an administrator, who may do whatever anybody may and extend budgets?`;
  if (!(await dialog.confirm("administrator", question))) return;
  await context.addToSetting(["access", "administrators"], [id]);
}

function openPlatforms(context: SetupContext): Platform[] {
  const { environment, settings } = context.config();
  const {
    SLACK_BOT_TOKEN: botToken,
    SLACK_APP_TOKEN,
    SLACK_API_URL,
    DISCORD_TOKEN,
    DISCORD_API_URL,
  } = environment;
  const platforms: Platform[] = [];
  if (botToken && SLACK_APP_TOKEN) {
    const server = { ...(SLACK_API_URL && { apiUrl: SLACK_API_URL }), marks: settings.slack.marks, log };
    platforms.push({
      name: "Slack",
      adapter: createSlackAdapter({
        ...server,
        teams: { botToken },
        events: resolveTransport(environment, settings.slack.http),
        stopReactions: [],
        downtime: nobodyWaits,
        recentThreads: { of: async () => [] },
        dayBudgets: { of: async () => [] },
        mayAsk: () => false,
        choices: nothingToChoose,
      }),
      surface: createSlackSurface({ ...server, botToken }),
      reasons:
        "Is the bot in that channel (/invite it)? Is it the right workspace? Does another Heddle run with these tokens? Otherwise compare Event Subscriptions with `heddle manifest slack`.",
    });
  }
  if (DISCORD_TOKEN) {
    const server = { token: DISCORD_TOKEN, ...(DISCORD_API_URL && { apiUrl: DISCORD_API_URL }), log };
    platforms.push({
      name: "Discord",
      adapter: createDiscordAdapter({
        ...server,
        messageContent: settings.discord.messageContent,
        stopReactions: [],
        downtime: nobodyWaits,
        mayAsk: () => false,
        choices: nothingToChoose,
      }),
      surface: createDiscordSurface({
        ...server,
        messageContent: settings.discord.messageContent,
        marks: settings.discord.marks,
      }),
      reasons: "May the bot see that channel? Is it the server to which you have invited it?",
    });
  }
  return platforms;
}
