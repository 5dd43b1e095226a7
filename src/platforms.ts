import type { Redis } from "ioredis";
import type { ChatAdapter, ChatSurface } from "./adapters/adapter.ts";
import { createLocalSurface } from "./adapters/local/surface.ts";
import { type Config, ConfigError } from "./config/load.ts";
import { createAttendance } from "./queue/attendance.ts";
import { createRecentThreads } from "./queue/recent-threads.ts";
import type { Logger } from "./telemetry/log.ts";

/** What a connection to a platform is made from. A platform's code is loaded only where its token is set. */
interface Ground {
  config: Config;
  log: Logger;
  redis: Redis;
}

/** A way to write to every platform that is configured, and to the console. */
export async function openSurfaces({ config, log, redis }: Ground): Promise<Map<string, ChatSurface>> {
  const { environment } = config;
  const surfaces = new Map<string, ChatSurface>([["local", createLocalSurface({ redis })]]);
  if (wantsSlack(environment)) {
    const workspaces = await slackWorkspaces({ config, redis });
    const server = slackServer({ config, log });
    if ("client" in workspaces) {
      const { createWorkspacesSurface } = await import("./adapters/slack/workspaces-surface.ts");
      surfaces.set("slack", createWorkspacesSurface(workspaces.installations, server));
    } else {
      const { createSlackSurface } = await import("./adapters/slack/surface.ts");
      surfaces.set("slack", createSlackSurface({ ...server, ...workspaces }));
    }
  }
  return surfaces;
}

/** The chat platforms to listen to; the console is not among them. */
export async function openAdapters({ config, log, redis }: Ground): Promise<ChatAdapter[]> {
  const { environment, settings } = config;
  const adapters: ChatAdapter[] = [];
  if (wantsSlack(environment)) {
    const [{ createSlackAdapter }, { chooseEvents }] = await Promise.all([
      import("./adapters/slack/adapter.ts"),
      import("./adapters/slack/choice.ts"),
    ]);
    adapters.push(
      createSlackAdapter({
        ...slackServer({ config, log }),
        workspaces: await slackWorkspaces({ config, redis }),
        events: chosen(() => chooseEvents(environment, settings.slack.http)),
        stopReactions: settings.slack.stopReactions,
        attendance: createAttendance(redis, Date.now),
        recentThreads: createRecentThreads(redis),
      }),
    );
  }
  return adapters;
}

/** Whether Slack is to be used at all. */
function wantsSlack({ SLACK_BOT_TOKEN, SLACK_APP_TOKEN, SLACK_CLIENT_ID }: Config["environment"]): boolean {
  return Boolean(SLACK_BOT_TOKEN ?? SLACK_APP_TOKEN ?? SLACK_CLIENT_ID);
}

async function slackWorkspaces({ config, redis }: Pick<Ground, "config" | "redis">) {
  const { chooseWorkspaces } = await import("./adapters/slack/choice.ts");
  const choice = chosen(() => chooseWorkspaces(config.environment, config.settings.slack.workspaces));
  if (!("client" in choice)) return choice;
  const { createInstallations } = await import("./adapters/slack/installations.ts");
  return { ...choice, installations: createInstallations(redis, choice.client) };
}

/** A choice that cannot be made is for the operator to put right. */
function chosen<T>(choose: () => T): T {
  try {
    return choose();
  } catch (error) {
    throw new ConfigError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

function slackServer({ config, log }: Pick<Ground, "config" | "log">) {
  const { SLACK_API_URL } = config.environment;
  return { ...(SLACK_API_URL && { apiUrl: SLACK_API_URL }), log };
}
