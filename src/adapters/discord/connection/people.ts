import { type REST, Routes } from "discord.js";
import { z } from "zod";
import type { Author } from "../../../chat/inbound.ts";
import { directWorkspace } from "./ids.ts";
import { refusalCode } from "./rest.ts";

export const userSchema = z.object({
  id: z.string(),
  username: z.string(),
  global_name: z.string().nullish(),
  bot: z.boolean().optional(),
});

export const memberSchema = z.object({
  nick: z.string().nullish(),
  roles: z.array(z.string()),
  /** Has not yet accepted the rules of the server. */
  pending: z.boolean().optional(),
});

type User = z.infer<typeof userSchema>;
type Member = z.infer<typeof memberSchema>;

/**
 * Describes a person. A member of the server is a `member` with the ids of their roles, but a `guest` until they have
 * accepted the rules of the server. Somebody who writes directly is a `member` of the workspace `dm`, without roles:
 * there is no server to have roles in, so only a list of users can allow that person.
 *
 * @param member absent for direct messages
 */
export function describePerson(user: User, member?: Member): Author {
  const name = member?.nick || user.global_name || user.username;
  return {
    id: user.id,
    name: name.replaceAll(/\s+/g, " ").slice(0, 80),
    standing: user.bot ? "bot" : member?.pending ? "guest" : "member",
    roles: member?.roles ?? [],
  };
}

/** How long a person's roles are cached where Discord does not send them with the event. */
const freshMs = 60_000;
const capacity = 5_000;

/**
 * Looks people up where an event does not say who somebody is. Somebody who has left the server is external.
 * Rejects when Discord does not answer.
 */
export type People = (user: string, workspace: string) => Promise<Author>;

export function createPeople(rest: REST): People {
  const entries = new Map<string, { since: number; author: Promise<Author> }>();
  const createUnknown = (id: string): Author => ({ id, name: id, standing: "external", roles: [] });
  const lookUp = async (id: string, workspace: string): Promise<Author> => {
    try {
      if (workspace === directWorkspace)
        return describePerson(userSchema.parse(await rest.get(Routes.user(id))));
      const member = await rest.get(Routes.guildMember(workspace, id));
      return describePerson(z.object({ user: userSchema }).parse(member).user, memberSchema.parse(member));
    } catch (error) {
      // Discord has answered: not somebody we know.
      if (refusalCode(error) !== undefined) return createUnknown(id);
      throw error;
    }
  };
  return (id, workspace) => {
    const key = `${workspace}:${id}`;
    const known = entries.get(key);
    if (known && Date.now() - known.since < freshMs) return known.author;
    const author = lookUp(id, workspace);
    entries.delete(key);
    entries.set(key, { since: Date.now(), author });
    author.catch(() => entries.delete(key));
    const [oldest] = entries.keys();
    if (entries.size > capacity && oldest !== undefined) entries.delete(oldest);
    return author;
  };
}
