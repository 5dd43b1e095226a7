import type { Redis } from "ioredis";
import { createConsoleSurface } from "../adapters/console/conversations/surface.ts";
import type { SkillLibrary } from "../agent/skills/library.ts";
import type { ChannelWatch } from "../chat/channel-watch.ts";
import type { ChatAdapter } from "../chat/adapter.ts";
import type { Author } from "../chat/inbound.ts";
import type { ChatSurface } from "../chat/surface.ts";
import type { TaskChoices } from "../chat/task-choices.ts";
import { threadId, type ThreadRef } from "../chat/threads.ts";
import { findClosedDiscord } from "../config/access.ts";
import type { Environment } from "../config/environment.ts";
import { ConfigError } from "../config/config-error.ts";
import type { Config } from "../config/load.ts";
import type { Access } from "../intake/access.ts";
import { createDayBudgets } from "../queue/budgets/state.ts";
import { createRequestLimit } from "../queue/outbox/request-limit.ts";
import { sendKept } from "../queue/outbox/send-kept.ts";
import { createDowntime } from "../queue/session/gateway-last-seen.ts";
import { createRecentThreads } from "../queue/session/lists/recent-threads.ts";
import type { PromptIndex } from "../queue/stores/mcp-prompts.ts";
import { countRunningOn } from "../queue/turns/slots.ts";
import type { TurnQueue } from "../queue/turns/wake-queue.ts";
import type { Logger } from "../telemetry/log.ts";
import type { Configuration } from "./configuration/live-configuration.ts";
import { listSkillNames, modelChoicesIn } from "./channel-settings.ts";
import { listOfferedPrompts } from "./mcp/prompts.ts";

/** What a connection to a platform is made from. A platform's code is loaded only where its token is set. */
interface PlatformDeps {
  config: Config;
  log: Logger;
  redis: Redis;
}

/**
 * Loads the code of the platforms that are configured, while there is something to wait for: opening them would load it
 * when Redis is connected, and everybody waits then.
 *
 * @param options.hears whether their adapters will be opened too
 */
export async function loadPlatforms({ environment }: Config, { hears }: { hears: boolean }): Promise<void> {
  if (wantsSlack(environment)) {
    await import("../adapters/slack/surface/surface.ts");
    if (hears) await import("../adapters/slack/adapter.ts");
  }
  if (environment.DISCORD_TOKEN) {
    await import("../adapters/discord/surface/surface.ts");
    if (hears) await import("../adapters/discord/adapter.ts");
  }
}

/** A way to write to every platform that is configured, and to the console. */
export async function openSurfaces({ config, log, redis }: PlatformDeps): Promise<Map<string, ChatSurface>> {
  const { environment, settings } = config;
  const surfaces = new Map<string, ChatSurface>([["local", createConsoleSurface({ redis })]]);
  if (wantsSlack(environment)) {
    const workspaces = await slackTeams({ config, log, redis });
    const { startLimit } = await import("../adapters/slack/surface/stream-starts.ts");
    const server = {
      ...slackServer({ config, log }),
      streamStarts: (team: string) =>
        createRequestLimit(redis, { platform: "slack-streams", bot: team }, startLimit),
    };
    if ("client" in workspaces) {
      const { createTeamsSurface } = await import("../adapters/slack/surface/teams-surface.ts");
      surfaces.set("slack", createTeamsSurface(workspaces.installations, server));
    } else {
      const { createSlackSurface } = await import("../adapters/slack/surface/surface.ts");
      surfaces.set("slack", createSlackSurface({ ...server, ...workspaces }));
    }
  }
  if (environment.DISCORD_TOKEN) {
    const { createDiscordSurface } = await import("../adapters/discord/surface/surface.ts");
    surfaces.set(
      "discord",
      createDiscordSurface({
        ...(await discordAccess(environment, environment.DISCORD_TOKEN, redis)),
        ...(environment.DISCORD_CDN_URL && { cdnUrl: environment.DISCORD_CDN_URL }),
        messageContent: settings.discord.messageContent,
        marks: settings.discord.marks,
        forumTags: settings.discord.forumTags,
        mentionAfterSeconds: settings.discord.mentionAfterSeconds,
        log,
      }),
    );
  }
  return surfaces;
}

/** The chat platforms to listen to; the console is not among them. */
export async function openAdapters({
  config,
  configuration,
  log,
  redis,
  access,
  queue,
  watch,
  ...offered
}: PlatformDeps & {
  configuration: Pick<Configuration, "current" | "section">;
  skills: SkillLibrary;
  prompts: PromptIndex;
  access: Access;
  queue: Pick<TurnQueue, "wake">;
  watch: Pick<ChannelWatch, "isWatched">;
}): Promise<ChatAdapter[]> {
  const { environment, settings } = config;
  const adapters: ChatAdapter[] = [];
  const downtime = createDowntime(redis, Date.now);
  const choices = createChoices({ ...offered, configuration, access });
  const mayAsk = (platform: string) => (workspace: string, author: Author) =>
    access.mayAsk({ platform, workspace }, author);
  const isWatched = (platform: string) => (workspace: string, channel: string) =>
    watch.isWatched({ platform, workspace, channel });
  if (wantsSlack(environment)) {
    const [{ createSlackAdapter }, { resolveTransport }, { checkToken }] = await Promise.all([
      import("../adapters/slack/adapter.ts"),
      import("../adapters/slack/installation/resolve-teams.ts"),
      import("../adapters/slack/installation/check.ts"),
    ]);
    const teams = await slackTeams({ config, log, redis });
    const events = runChoice(() => resolveTransport(environment, settings.slack.http));
    runChoice(() => {
      if (events.kind === "socket") checkToken("SLACK_APP_TOKEN", events.appToken);
      if ("botToken" in teams) checkToken("SLACK_BOT_TOKEN", teams.botToken);
    });
    adapters.push(
      createSlackAdapter({
        ...slackServer({ config, log }),
        teams,
        events,
        stopReactions: settings.slack.stopReactions,
        startReactions: settings.slack.startReactions,
        isWatched: isWatched("slack"),
        downtime,
        recentThreads: createRecentThreads(redis),
        dayBudgets: createDayBudgets(redis, configuration.section("budgets"), Date.now),
        mayAsk: mayAsk("slack"),
        choices,
      }),
    );
  }
  if (environment.DISCORD_TOKEN) {
    const { DISCORD_TOKEN: token } = environment;
    const [{ createDiscordAdapter }, { checkToken }] = await Promise.all([
      import("../adapters/discord/adapter.ts"),
      import("../adapters/discord/installation/check.ts"),
    ]);
    runChoice(() => checkToken(token));
    adapters.push(
      createDiscordAdapter({
        ...(await discordAccess(environment, token, redis)),
        ...settings.discord,
        closed: findClosedDiscord(settings.access),
        isWatched: isWatched("discord"),
        downtime,
        onWritable: (thread) => sendKept(redis, queue, threadId(thread)),
        countRunning: () => countRunningOn(redis, "discord", Date.now()),
        mayAsk: mayAsk("discord"),
        choices,
        log,
      }),
    );
  }
  return adapters;
}

/** What people may choose with a task: nothing, where theirs are refused. */
function createChoices({
  configuration,
  skills,
  prompts,
  access,
}: {
  configuration: Pick<Configuration, "current">;
  skills: SkillLibrary;
  prompts: PromptIndex;
  access: Access;
}): (place: ThreadRef, author: Author) => Promise<TaskChoices> {
  return async (place, author) => {
    if (!access.mayAsk(place, author)) return { models: [], skills: [], prompts: [] };
    const thread = threadId(place);
    const { settings } = configuration.current();
    return {
      models: modelChoicesIn(settings, thread),
      skills: await listSkillNames(settings, skills, thread),
      prompts: await listOfferedPrompts(prompts, settings, { place, author }),
    };
  };
}

async function discordAccess({ DISCORD_API_URL }: Environment, token: string, redis: Redis) {
  const { botLimit } = await import("../adapters/discord/connection/global-limit.ts");
  const bot = `${token} ${DISCORD_API_URL ?? ""}`;
  return {
    token,
    ...(DISCORD_API_URL && { apiUrl: DISCORD_API_URL }),
    requests: createRequestLimit(redis, { platform: "discord", bot }, botLimit),
  };
}

/** Whether Slack is to be used at all. */
function wantsSlack({ SLACK_BOT_TOKEN, SLACK_APP_TOKEN, SLACK_CLIENT_ID }: Config["environment"]): boolean {
  return Boolean(SLACK_BOT_TOKEN ?? SLACK_APP_TOKEN ?? SLACK_CLIENT_ID);
}

async function slackTeams({ config, log, redis }: PlatformDeps) {
  const { resolveTeams } = await import("../adapters/slack/installation/resolve-teams.ts");
  const choice = runChoice(() => resolveTeams(config.environment, config.settings.slack.workspaces));
  if (!("client" in choice)) return choice;
  const { createInstallations } = await import("../adapters/slack/installation/installations.ts");
  return {
    ...choice,
    installations: createInstallations(redis, choice.client, slackServer({ config, log })),
  };
}

/** A choice that cannot be made is for the operator to put right. */
function runChoice<T>(choose: () => T): T {
  try {
    return choose();
  } catch (error) {
    throw new ConfigError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

function slackServer({ config, log }: Pick<PlatformDeps, "config" | "log">) {
  const { SLACK_API_URL } = config.environment;
  return { ...(SLACK_API_URL && { apiUrl: SLACK_API_URL }), marks: config.settings.slack.marks, log };
}
