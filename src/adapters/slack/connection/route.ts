import { z } from "zod";
import { refusalCode } from "./web.ts";
import { NotInstalled, type TeamConnection } from "./team.ts";
import type { TeamRegistry } from "./teams.ts";

/** A team that an event concerns. */
export interface Route {
  team: TeamConnection;
  /** Others may have the channel too, with a bot of this app: only the text tells who is mentioned. */
  isShared: boolean;
}

/** Finds the teams that an event concerns, by its envelope. @throws NotInstalled where none is served */
export type FindRoutes = (envelope: unknown, teamId: string | undefined) => AsyncIterable<Route>;

const envelopeSchema = z
  .object({
    is_ext_shared_channel: z.boolean().catch(false),
    authorizations: z
      .array(z.object({ team_id: z.string().nullish(), enterprise_id: z.string().nullish() }))
      .catch([]),
    event: z.object({
      channel: z.string().optional().catch(undefined),
      item: z.object({ channel: z.string() }).optional().catch(undefined),
    }),
  })
  .transform(({ is_ext_shared_channel: isExternal, authorizations: [authorized], event }) => {
    const channel = event.channel ?? event.item?.channel ?? "";
    const organisation = authorized?.enterprise_id ?? undefined;
    return {
      channel,
      /** The installation in whose name Slack tells of it. */
      parties: [authorized?.team_id, organisation].filter((id) => typeof id === "string"),
      // The workspaces of one organisation share channels too, and a bot's direct messages are its own.
      mayBeShared: /^[CG]/.test(channel) && (isExternal || organisation !== undefined),
    };
  });

/** After that Slack is asked again who shares a channel. */
const freshMs = 60_000;
const capacity = 5_000;

/**
 * Slack tells of what happens in a shared channel once, in the name of one of the teams that have installed the app, and
 * not always of the one whose bot is meant. So each of ours that has the channel reads it by itself: a mention counts for
 * the team whose bot it names, and a follow-up where a thread has a session.
 *
 * That a team has the channel is what Slack says to that team: an id of another team's channel means nothing to it.
 * https://docs.slack.dev/apis/slack-connect
 */
export function createRouting(teams: TeamRegistry): FindRoutes {
  const entries = new Map<string, { since: number; sharers: Promise<ReadonlySet<string>> }>();

  const findSharers = (team: TeamConnection, channel: string): Promise<ReadonlySet<string>> => {
    const key = `${team.identity.teamId}:${channel}`;
    const known = entries.get(key);
    if (known && Date.now() - known.since < freshMs) return known.sharers;
    const sharers = readSharers(team, channel);
    entries.delete(key);
    entries.set(key, { since: Date.now(), sharers });
    sharers.catch(() => entries.delete(key));
    const [oldest] = entries.keys();
    if (entries.size > capacity && oldest !== undefined) entries.delete(oldest);
    return sharers;
  };

  return async function* (envelope, teamId) {
    const { data } = envelopeSchema.safeParse(envelope);
    const {
      channel,
      parties,
      mayBeShared: isShared,
    } = data ?? { channel: "", parties: [], mayBeShared: false };
    const own = await teams.connectionOf(teamId).catch((error: unknown) => {
      if (error instanceof NotInstalled) return error;
      throw error;
    });
    let isServed = !(own instanceof NotInstalled);
    // First, so that it waits for no other.
    if (!(own instanceof NotInstalled)) yield { team: own, isShared };
    for (const team of isShared ? await teams.connections() : []) {
      // Workspaces of one organisation-wide installation have one bot: it reads an event where that happened, and once.
      const isSame = own instanceof NotInstalled ? false : team.botToken === own.botToken;
      const sharers = isSame ? undefined : await findSharers(team, channel);
      if (!parties.some((id) => sharers?.has(id))) continue;
      isServed = true;
      yield { team, isShared };
    }
    if (!isServed) throw own;
  };
}

/** Ids of the teams and organisations that have the channel, as Slack tells this one; none where its bot is not in it. */
async function readSharers({ client }: TeamConnection, channel: string): Promise<ReadonlySet<string>> {
  try {
    const { channel: found } = await client.conversations.info({ channel });
    if (!found?.is_member) return new Set();
    const { shared_team_ids = [], connected_team_ids = [], internal_team_ids = [] } = found;
    return new Set([...shared_team_ids, ...connected_team_ids, ...internal_team_ids]);
  } catch (error) {
    // Then Slack is to send the event again.
    if (refusalCode(error) === undefined) throw error;
    return new Set();
  }
}
