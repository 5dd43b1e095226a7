import type { UsersInfoResponse, WebClient } from "@slack/web-api";
import type { BaseLogger } from "pino";
import type { Author } from "../../../chat/inbound.ts";
import { refusalCode } from "../connection/web.ts";

/** How long a person's name and standing are cached: a demoted account must lose its permissions soon. */
const freshMs = 5 * 60_000;
const capacity = 5_000;

export interface People {
  /**
   * Looks up who that is. Somebody who cannot be looked up counts as a guest or external, so that nothing is allowed by
   * accident. Rejects when Slack does not answer.
   */
  author(userId: string): Promise<Author>;
  /** The name, if that person was looked up recently. */
  knownName(userId: string): string | undefined;
}

interface Entry {
  since: number;
  author: Promise<Author>;
  name?: string;
}

/** Looks up people of a team, with a cache of some minutes. */
export function createPeople(client: WebClient, teamId: string, log: BaseLogger): People {
  const entries = new Map<string, Entry>();

  const lookUp = async (userId: string): Promise<Author> => {
    try {
      const { user } = await client.users.info({ user: userId });
      if (user) return describe(userId, user, teamId);
    } catch (error) {
      const code = refusalCode(error);
      if (code === undefined || code === "ratelimited") throw error;
      if (code !== "user_not_found" && code !== "user_not_visible") {
        log.warn(
          `Slack does not tell who ${userId} is (${code}), so that person counts as a guest: grant users:read.`,
        );
        const unseen = code === "missing_scope" ? { unseenFor: "users:read" } : {};
        return { id: userId, name: userId, standing: "guest", roles: [], ...unseen };
      }
    }
    return { id: userId, name: userId, standing: "external", roles: [] };
  };

  const remember = (userId: string): Entry => {
    const entry: Entry = { since: Date.now(), author: lookUp(userId) };
    entries.delete(userId);
    entries.set(userId, entry);
    const [oldest] = entries.keys();
    if (entries.size > capacity && oldest !== undefined) entries.delete(oldest);
    entry.author.then(
      (author) => (entry.name = author.name),
      () => entries.delete(userId),
    );
    return entry;
  };

  return {
    author(userId) {
      const known = entries.get(userId);
      const entry = known && Date.now() - known.since < freshMs ? known : remember(userId);
      return entry.author;
    },
    knownName: (userId) => entries.get(userId)?.name,
  };
}

type SlackUser = NonNullable<UsersInfoResponse["user"]>;

function describe(id: string, user: SlackUser, teamId: string): Author {
  const name = user.profile?.display_name || user.profile?.real_name || user.real_name || user.name || id;
  const roles = [...(user.is_owner ? ["owner"] : []), ...(user.is_admin ? ["admin"] : [])];
  return { id, name: name.replaceAll(/\s+/g, " ").slice(0, 80), standing: readStanding(user, teamId), roles };
}

/** Repeats what people, guests included, have told it to say: as a reminder, or in response to a phrase. */
const slackbot = "USLACKBOT";

function readStanding(user: SlackUser, teamId: string): Author["standing"] {
  // Slack itself does not list Slackbot as a bot.
  if (user.is_bot || user.id === slackbot) return "bot";
  if (user.deleted) return "external";
  const isOurs = user.team_id === teamId || user.enterprise_user?.teams?.includes(teamId);
  if (user.is_stranger || !isOurs) return "external";
  return user.is_restricted || user.is_ultra_restricted ? "guest" : "member";
}
