import type { ReaderRules } from "../inbound/events.ts";
import { checkToken, identify, isDeadToken, listMissingScopes } from "../installation/check.ts";
import { UnreadableInstallation } from "../installation/installations.ts";
import { installPath } from "../installation/manifest.ts";
import type { SlackAdapterOptions } from "../options.ts";
import {
  type ConnectionOf,
  createReceivingClient,
  createTeamConnection,
  NotInstalled,
  type TeamConnection,
} from "./team.ts";

export interface TeamRegistry {
  connectionOf: ConnectionOf;
  /** The connections of all teams that this process serves; a team whose installation is unusable is left out. */
  connections(): Promise<TeamConnection[]>;
  /** Forgets a team, or an organisation, that has removed the app. */
  leave(id: string | undefined): Promise<void>;
}

/** Rejects with an error that names the wrong token or setting and the fix. */
export async function openTeamRegistry(options: SlackAdapterOptions): Promise<TeamRegistry> {
  const { teams, stopReactions, isWatched = () => false, log } = options;
  const rules: ReaderRules = { stopReactions, isWatched };
  if ("botToken" in teams) {
    const access = { ...options, botToken: teams.botToken };
    checkToken("SLACK_BOT_TOKEN", access.botToken);
    const { identity, warning } = await identify(createReceivingClient(access, 2));
    if (warning) log.warn(warning);
    const team = createTeamConnection(access, identity, rules);
    const isOurs = (teamId: string | undefined) => teamId === undefined || teamId === identity.teamId;
    return {
      async connectionOf(teamId) {
        if (isOurs(teamId)) return team;
        throw new NotInstalled(
          `What happens in the Slack workspace ${teamId} is ignored: SLACK_BOT_TOKEN is for ${identity.teamId} alone. To serve several workspaces, let them install the app (docs/slack.md).`,
        );
      },
      connections: async () => [team],
      async leave(teamId) {
        if (isOurs(teamId)) log.error("The Slack app was removed from the workspace: install it again.");
      },
    };
  }

  const { installations } = teams;
  /** A connection is reused as long as the token stays the same. */
  const known = new Map<string, TeamConnection>();
  const connectionOf = async (teamId: string | undefined): Promise<TeamConnection> => {
    const installation = teamId === undefined ? undefined : await installations.find(teamId);
    if (teamId === undefined || !installation) {
      throw new NotInstalled(
        `The Slack app is not installed in the workspace ${teamId}, or it may not be there.`,
      );
    }
    const { botToken, identity } = installation;
    const before = known.get(teamId);
    if (before?.botToken === botToken) return before;
    const team = createTeamConnection({ ...options, botToken }, identity, rules);
    known.set(teamId, team);
    return team;
  };
  /** Whether Slack accepts the token that we have of a team or organisation. Rejects when Slack does not answer. */
  const isInstalled = async (id: string): Promise<boolean> => {
    try {
      const botToken = await installations.tokenOf(id);
      if (botToken === undefined) return false;
      return (await createReceivingClient({ ...options, botToken }, 0).auth.test()).ok;
    } catch (error) {
      if (error instanceof UnreadableInstallation || isDeadToken(error)) return false;
      throw error;
    }
  };
  /** Teams whose problem was logged: the connections are listed every few seconds. */
  const logged = new Set<string>();
  const listConnections = async (): Promise<TeamConnection[]> => {
    const connections: TeamConnection[] = [];
    for (const teamId of await installations.all()) {
      try {
        connections.push(await connectionOf(teamId));
      } catch (error) {
        if (!(error instanceof NotInstalled || error instanceof UnreadableInstallation)) throw error;
        if (!logged.has(teamId)) log.warn(error.message);
        logged.add(teamId);
      }
    }
    return connections;
  };
  const compareScopes = async ({ client, identity: { teamId } }: TeamConnection) => {
    const answer = await client.auth.test().catch(() => undefined);
    const missing = answer ? listMissingScopes(answer) : [];
    if (missing.length > 0) {
      log.warn(
        `In the workspace ${teamId} the Slack app lacks the scopes ${missing.join(", ")}: install it there again at ${installPath}.`,
      );
    }
  };
  // In the background: Slack may be slow to answer for one of them.
  for (const team of await listConnections()) void compareScopes(team);
  return {
    connectionOf,
    connections: listConnections,
    async leave(id) {
      // The event may arrive late, after the app was installed again: then our token is valid.
      if (id === undefined || (await isInstalled(id))) return;
      await installations.remove(id);
      known.delete(id);
      const what = id.startsWith("E") ? "organisation" : "workspace";
      log.info(`The Slack app was removed from the ${what} ${id}.`);
    },
  };
}
