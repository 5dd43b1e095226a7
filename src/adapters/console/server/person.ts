import type { IncomingMessage } from "node:http";
import type { Author } from "../../../chat/inbound.ts";
import type { Role } from "../../../chat/roles.ts";
import type { Identity } from "../../../operations/people/sign-ins.ts";
import type { AddressList } from "./client-address.ts";
import { consoleAuthor } from "../conversations/intake.ts";

/** Who sends a request. */
export interface Person {
  author: Author;
  role: Role;
}

/** Whoever has the console's own token, or the only person who can reach it. */
export function consoleOperator(): Person {
  return { author: consoleAuthor(), role: "operator" };
}

const standings = { operator: "operator", member: "member", viewer: "guest" } as const;

/**
 * Somebody with a name. No platform gives ids that begin with `@`, so that nobody is taken for a person of one who happens
 * to have that name.
 */
export function describeNamedPerson(name: string, role: Role): Person {
  return { author: { id: `@${name}`, name, standing: standings[role], roles: [] }, role };
}

/** The header by which named proxies say who somebody is. */
export interface IdentityHeader {
  name: string;
  /** Roles by name; `*` is that of everybody else. */
  people: Readonly<Record<string, Role>>;
}

/** Who is what at the console: by name or else by group; `*` among the people is everybody else. */
export interface RoleTable {
  people: Readonly<Record<string, Role>>;
  groups: Readonly<Record<string, Role>>;
}

const highestFirst: readonly Role[] = ["operator", "member", "viewer"];

/** Undefined for those who are nothing here. */
export function findRole({ name, groups }: Identity, table: RoleTable): Role | undefined {
  if (Object.hasOwn(table.people, name)) return table.people[name];
  const roles = groups.flatMap((group) => (Object.hasOwn(table.groups, group) ? table.groups[group] : []));
  return highestFirst.find((role) => roles.includes(role)) ?? table.people["*"];
}

/** What may be a person's name: nothing that could be two names, or that nobody could see. */
export function isName(text: string): boolean {
  return /^[^\p{Cc},]{1,100}$/u.test(text);
}

/** `absent`: the proxy says nothing, or there is none. */
export type Identified = { kind: "person"; person: Person } | { kind: "unknown" } | { kind: "absent" };

/** Who a named proxy says this is. What anybody else writes into the header is not looked at. */
export function identify(
  { socket, rawHeaders }: IncomingMessage,
  header: IdentityHeader | undefined,
  proxies: AddressList,
): Identified {
  if (!header || !proxies.has(socket.remoteAddress ?? "")) return { kind: "absent" };
  const wanted = header.name.toLowerCase();
  const values = rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === wanted);
  if (values.length === 0) return { kind: "absent" };
  const [value = ""] = values;
  const name = value.trim();
  // Two of them: the proxy has added its own to one that it was sent.
  if (values.length > 1 || !isName(name)) return { kind: "unknown" };
  const role = findRole({ name, groups: [] }, { people: header.people, groups: {} });
  return role === undefined
    ? { kind: "unknown" }
    : { kind: "person", person: describeNamedPerson(name, role) };
}
