import type { Speaker } from "../agent/messages.ts";
import { isOnlyRequesters, type Question } from "../agent/questions.ts";
import type { Author, InboundEvent } from "../chat/inbound.ts";
import type { Act, Role } from "../chat/roles.ts";
import type { ThreadRef } from "../chat/threads.ts";

/** `requester`: the people who asked for the turn. Administrators always may. */
type Who = "everyone" | "requester" | "administrators";

/** Lists of people hold bare ids, which count in every workspace, and `workspace:id`, which counts in that one. */
export interface AccessSettings {
  administrators: string[];
  /** Whoever else allows them. */
  denied: string[];
  slack: { allow: ("members" | "guests" | "externals")[]; users: string[] };
  discord: { guilds: string[]; roles: string[]; users: string[] };
  bots: string[];
  /** How many messages of bots a thread accepts in a row, without one of a person between them. */
  botMessages: number;
  stop: Who;
  approve: Who;
  continue: Who;
  /** Who may read direct messages of others at the console. */
  directMessages: readonly Role[];
}

/** Whether a person may do something. A refusal without a reply is silent: replying to anybody who asks would be abused. */
export type Permission = { allowed: true } | { allowed: false; why: string; reply?: string };

export type Place = Pick<ThreadRef, "platform" | "workspace">;

/** The operator's rules. The other methods are about people whom `permission` has allowed. */
export interface Access {
  /** See `AccessSettings.botMessages`. */
  readonly botLimit: number;
  permission(event: InboundEvent): Permission;
  /** Whether that person's messages are tasks rather than only something that somebody said. */
  mayAsk(place: Place, author: Author): boolean;
  /** @param requesters ids of those who asked for the turn; looked up only where the rule needs them */
  mayStop(place: Place, author: Author, requesters: () => Promise<readonly string[]>): Promise<boolean>;
  mayApprove(place: Place, author: Author, requester: Pick<Speaker, "id">): boolean;
  /** Ids of those whom a question calls, since they are to decide it. */
  deciders(
    place: Place,
    question: Pick<Question, "kind" | "requester"> & { owner?: unknown },
  ): readonly string[];
  /** Whether this person may continue a turn that a limit of its own has paused. @param requesters see `mayStop` */
  mayContinue(place: Place, author: Author, requesters: () => Promise<readonly string[]>): Promise<boolean>;
  /** Whether this person may have turns undone. @param askers ids of those who have asked for each of them */
  mayUndo(place: Place, author: Author, askers: readonly string[]): boolean;
  /** Whether this person may change settings of that workspace in chat. */
  mayAdminister(place: Place, author: Author): boolean;
  /** Whether that is a bot that may give work: it is called nowhere, as it might answer. */
  isListedBot(place: Place, id: string): boolean;
  /**
   * Whether this person may extend a budget. @param share `everybody`: the one that all workspaces share, which an
   * administrator of one of them may not extend; `own`: a channel's or a person's
   */
  mayExtend(place: Place, author: Author, share: "everybody" | "own"): boolean;
  /** Whether somebody of that role may use an address of the console that does this. */
  mayUse(role: Role, act: Act): boolean;
}

/** What a person is to us, on every platform alike. */
type Rank = "known" | "listed-bot" | "unknown" | "bot";

/**
 * The one table for every kind of event on every platform. What is not listed is denied: a kind without a row does
 * not compile. A refusal tells the person why; bots that are not listed are ignored silently.
 */
const table: Record<InboundEvent["kind"], Record<Rank, "allow" | "refuse" | "ignore">> = {
  message: { known: "allow", "listed-bot": "allow", unknown: "refuse", bot: "ignore" },
  // Only for messages that were accepted: whoever was allowed to write one may withdraw it. A bot that edits its
  // messages to show progress would send one with each edit, bypassing `botMessages`.
  edit: { known: "allow", "listed-bot": "ignore", unknown: "ignore", bot: "ignore" },
  delete: { known: "allow", "listed-bot": "allow", unknown: "ignore", bot: "ignore" },
  stop: { known: "allow", "listed-bot": "ignore", unknown: "refuse", bot: "ignore" },
  action: { known: "allow", "listed-bot": "ignore", unknown: "refuse", bot: "ignore" },
};

/**
 * What people with a name may do at the console and its API; what brings an event is judged by the table above as well,
 * for which a viewer is a guest. Direct messages are for the settings.
 */
const roleTable: Record<Exclude<Act, "read-direct">, Record<Role, boolean>> = {
  read: { operator: true, member: true, viewer: true },
  oversee: { operator: true, member: false, viewer: true },
  work: { operator: true, member: true, viewer: false },
  operate: { operator: true, member: false, viewer: false },
};

/** @param settings read with every question, so they may change */
export function createAccess(settings: AccessSettings): Access {
  const isDenied = (place: Place, { id, standing }: Author) =>
    standing !== "operator" && isListed(settings.denied, place, id);

  const isAdministrator = (place: Place, author: Author) =>
    author.standing === "operator" ||
    (author.standing !== "bot" &&
      !isDenied(place, author) &&
      isListed(settings.administrators, place, author.id));

  const isKnown = (place: Place, author: Author): boolean => {
    const { platform, workspace } = place;
    if (isDenied(place, author)) return false;
    if (isAdministrator(place, author)) return true;
    switch (platform) {
      case "slack":
        return (
          isListed(settings.slack.users, place, author.id) || isAmong(settings.slack.allow, author.standing)
        );
      case "discord": {
        const { guilds, roles, users } = settings.discord;
        return (
          // Somebody who has left the server, or has not accepted its rules, is not a member.
          (guilds.includes(workspace) && author.standing === "member") ||
          isListed(users, place, author.id) ||
          author.roles.some((role) => roles.includes(role))
        );
      }
      default:
        return author.standing === "member";
    }
  };

  const rankOf = (place: Place, author: Author): Rank => {
    if (author.standing === "bot")
      return isListed(settings.bots, place, author.id) && !isDenied(place, author) ? "listed-bot" : "bot";
    return isKnown(place, author) ? "known" : "unknown";
  };

  const matches = (who: Who, place: Place, author: Author, isRequester: boolean): boolean => {
    if (who === "everyone" || isAdministrator(place, author)) return true;
    return who === "requester" && isRequester;
  };

  const matchesAny = async (
    who: Who,
    place: Place,
    author: Author,
    requesters: () => Promise<readonly string[]>,
  ) => {
    if (matches(who, place, author, false)) return true;
    return who === "requester" && matches(who, place, author, (await requesters()).includes(author.id));
  };

  return {
    get botLimit() {
      return settings.botMessages;
    },
    permission(event) {
      const place = placeOf(event);
      const { author } = event;
      const result = table[event.kind][rankOf(place, author)];
      if (result === "allow") return { allowed: true };
      const why = `${event.kind} without permission (${author.standing})`;
      const reply = isDenied(place, author) ? denialReply : explainRefusal(place, author);
      return { allowed: false, why, ...(result === "refuse" && { reply }) };
    },
    mayAsk: (place, author) => ["known", "listed-bot"].includes(rankOf(place, author)),
    mayStop: (place, author, requesters) => matchesAny(settings.stop, place, author, requesters),
    deciders(place, question) {
      const { id } = question.requester;
      if (isOnlyRequesters(question)) return [id];
      // A bot's press is ignored.
      const isTheirs = question.kind === "choice" || settings.approve !== "administrators";
      return isTheirs && !isListed(settings.bots, place, id)
        ? [id]
        : listThere(settings.administrators, place);
    },
    mayApprove: (place, author, { id }) => matches(settings.approve, place, author, author.id === id),
    mayContinue: (place, author, requesters) => matchesAny(settings.continue, place, author, requesters),
    mayUndo: (place, author, askers) => matches("requester", place, author, askers.includes(author.id)),
    mayAdminister: isAdministrator,
    isListedBot: (place, id) => isListed(settings.bots, place, id),
    mayExtend(place, author, share) {
      if (share === "own") return isAdministrator(place, author);
      const isOfAll = settings.administrators.includes(author.id);
      return isAdministrator(place, author) && (author.standing === "operator" || isOfAll);
    },
    mayUse: (role, act) =>
      act === "read-direct" ? settings.directMessages.includes(role) : roleTable[act][role],
  };
}

function isListed(list: readonly string[], { workspace }: Place, id: string): boolean {
  return list.includes(id) || list.includes(`${workspace}:${id}`);
}

/** The ids on the list that count in that workspace. */
function listThere(list: readonly string[], { workspace }: Place): string[] {
  const own = `${workspace}:`;
  return list.flatMap((entry) =>
    entry.startsWith(own) ? [entry.slice(own.length)] : entry.includes(":") ? [] : [entry],
  );
}

function placeOf(event: InboundEvent): Place {
  if (event.kind !== "stop") return event.thread;
  return "thread" in event.target ? event.target.thread : event.target.message;
}

function isAmong(allowed: AccessSettings["slack"]["allow"], standing: Author["standing"]): boolean {
  switch (standing) {
    case "member":
      return allowed.includes("members");
    case "guest":
      return allowed.includes("guests");
    case "external":
      return allowed.includes("externals");
    case "operator":
    case "bot":
      return false;
  }
}

const denialReply =
  "I may not take work from you. If you think that is a mistake, please ask an administrator.";

function explainRefusal({ platform }: Place, { id, standing, unseenFor }: Author): string {
  if (unseenFor !== undefined) return `I cannot see who you are; whoever runs me must grant ${unseenFor}.`;
  if (platform === "discord" && standing === "guest") {
    return "I only take work from people who have accepted the rules of this server. Please accept them, then write again.";
  }
  if (platform === "discord") {
    return `I only take work from people whom my operator has listed, and you are not among them. Please ask the operator: the setting is access.discord, and your id is ${id}.`;
  }
  const standings = { guest: " as a guest", external: " as a visitor from another organisation" };
  const here = standing === "guest" || standing === "external" ? standings[standing] : " without permission";
  return `I only take work from members of this workspace, and you are here${here}. Please ask a member.`;
}
