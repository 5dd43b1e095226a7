import type { Redis } from "ioredis";
import type { ChatAdapter, ChatSurface } from "./adapters/adapter.ts";
import { createLocalSurface } from "./adapters/local/surface.ts";
import type { SkillLibrary } from "./agent/skills/library.ts";
import type { Config } from "./config/load.ts";
import { modelNames } from "./config/model-choice.ts";
import type { Environment } from "./config/schema.ts";
import { createAttendance } from "./queue/attendance.ts";
import type { Logger } from "./telemetry/log.ts";

/** What a connection to a platform is made from. A platform's code is loaded only where its token is set. */
interface Ground {
  config: Config;
  log: Logger;
  redis: Redis;
}

/** A way to write to every platform that is configured, and to the console. */
export async function openSurfaces({ config, log, redis }: Ground): Promise<Map<string, ChatSurface>> {
  const { environment, settings } = config;
  const surfaces = new Map<string, ChatSurface>([["local", createLocalSurface({ redis })]]);
  if (environment.SLACK_BOT_TOKEN) {
    const { createSlackSurface } = await import("./adapters/slack/surface.ts");
    surfaces.set(
      "slack",
      createSlackSurface({
        botToken: environment.SLACK_BOT_TOKEN,
        ...(environment.SLACK_API_URL && { apiUrl: environment.SLACK_API_URL }),
        log,
      }),
    );
  }
  if (environment.DISCORD_TOKEN) {
    const { createDiscordSurface } = await import("./adapters/discord/surface.ts");
    surfaces.set(
      "discord",
      createDiscordSurface({
        ...discordAccess(environment, environment.DISCORD_TOKEN),
        ...(environment.DISCORD_CDN_URL && { cdnUrl: environment.DISCORD_CDN_URL }),
        messageContent: settings.discord.messageContent,
        log,
      }),
    );
  }
  return surfaces;
}

/** The chat platforms to listen to; the console is not among them. */
export async function openAdapters({
  config,
  log,
  redis,
  skills,
}: Ground & { skills: SkillLibrary }): Promise<ChatAdapter[]> {
  const { environment, settings } = config;
  const adapters: ChatAdapter[] = [];
  const attendance = createAttendance(redis, Date.now);
  if (environment.SLACK_BOT_TOKEN || environment.SLACK_APP_TOKEN) {
    const { createSlackAdapter } = await import("./adapters/slack/adapter.ts");
    adapters.push(
      createSlackAdapter({
        botToken: environment.SLACK_BOT_TOKEN ?? "",
        appToken: environment.SLACK_APP_TOKEN ?? "",
        ...(environment.SLACK_API_URL && { apiUrl: environment.SLACK_API_URL }),
        stopReactions: settings.slack.stopReactions,
        attendance,
        log,
      }),
    );
  }
  if (environment.DISCORD_TOKEN) {
    const { createDiscordAdapter } = await import("./adapters/discord/adapter.ts");
    adapters.push(
      createDiscordAdapter({
        ...discordAccess(environment, environment.DISCORD_TOKEN),
        ...settings.discord,
        attendance,
        choices: async () => ({
          models: modelNames(environment, settings),
          skills: (await skills.current()).skills.map(({ name }) => name),
        }),
        log,
      }),
    );
  }
  return adapters;
}

function discordAccess({ DISCORD_API_URL }: Environment, token: string) {
  return { token, ...(DISCORD_API_URL && { apiUrl: DISCORD_API_URL }) };
}
