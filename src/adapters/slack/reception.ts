import { checkToken, identify } from "./check.ts";
import type { SlackAdapterOptions } from "./adapter.ts";
import { UnreadableInstallation } from "./installations.ts";
import { createDesk, createReceivingClient, type Desk, type DeskOf, NotInstalled } from "./desk.ts";

export interface Reception {
  deskOf: DeskOf;
  /** Those of all workspaces that this process listens to, but for such as cannot be listened to. */
  desks(): Promise<Desk[]>;
  /** Forgets a workspace that has removed the app. */
  leave(teamId: string | undefined): Promise<void>;
}

/** Rejects with an error that names the wrong token or setting and the fix. */
export async function openReception(options: SlackAdapterOptions): Promise<Reception> {
  const { workspaces, stopReactions, log } = options;
  if ("botToken" in workspaces) {
    const access = { ...options, botToken: workspaces.botToken };
    checkToken("SLACK_BOT_TOKEN", access.botToken);
    const { identity, warning } = await identify(createReceivingClient(access));
    if (warning) log.warn(warning);
    const desk = createDesk(access, identity, stopReactions);
    return {
      deskOf: async () => desk,
      desks: async () => [desk],
      leave: async () => log.error("The Slack app was removed from the workspace: install it again."),
    };
  }

  const { installations } = workspaces;
  /** A desk is good as long as the token is the same. */
  const known = new Map<string, Desk>();
  const deskOf = async (teamId: string | undefined): Promise<Desk> => {
    const installation = teamId === undefined ? undefined : await installations.find(teamId);
    if (teamId === undefined || !installation) {
      throw new NotInstalled(
        `The Slack app is not installed in the workspace ${teamId}, or it may not be there.`,
      );
    }
    const { botToken, identity } = installation;
    const before = known.get(teamId);
    if (before?.botToken === botToken) return before;
    const desk = createDesk({ ...options, botToken }, identity, stopReactions);
    known.set(teamId, desk);
    return desk;
  };
  return {
    deskOf,
    async desks() {
      const desks: Desk[] = [];
      for (const teamId of await installations.all()) {
        try {
          desks.push(await deskOf(teamId));
        } catch (error) {
          if (!(error instanceof NotInstalled || error instanceof UnreadableInstallation)) throw error;
          log.warn(error.message);
        }
      }
      return desks;
    },
    async leave(teamId) {
      if (teamId === undefined) return;
      await installations.remove(teamId);
      known.delete(teamId);
      log.info(`The Slack app was removed from the workspace ${teamId}.`);
    },
  };
}
