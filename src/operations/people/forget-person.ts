import type { Redis } from "ioredis";
import type { ThreadId } from "../../chat/threads.ts";
import { keys } from "../../queue/redis/keys.ts";
import { readForward } from "../../queue/session/journal/journal.ts";
import type { PersonAuditEvent } from "../../telemetry/audit/fact.ts";
import { readAllEntries } from "../../telemetry/audit/files.ts";
import { forgetNames, listPeople, namesInClear } from "../../telemetry/audit/people.ts";
import { parseHeard } from "../installation/heard.ts";
import { createAccessTokens } from "./access-tokens.ts";
import { endSignInsOf } from "./sign-ins.ts";

/** Somebody whom Heddle knows; `person` is `platform:workspace:id`. */
export interface KnownPerson {
  person: string;
  /** Absent where nothing was heard of them for 90 days. */
  name?: string;
}

/** What was done for somebody who asked for erasure, and what is left to do. */
export interface Forgotten {
  /** Whether the audit log named them, and does so no longer. */
  isSealed: boolean;
  /** Entries of the audit log that an older Heddle wrote with their name in clear. */
  inClear: number;
  /** Of them, revoked. */
  tokens: number;
  /** Browsers that a provider had signed in as them, and that are out now. */
  browsers: number;
  /** Of theirs at MCP servers, disconnected. */
  accounts: number;
  /** Notes about them, deleted. */
  notes: number;
  /** Threads that they have written in, and whether anybody else has. */
  threads: { thread: ThreadId; alone: boolean }[];
}

export interface ForgetPersonOptions {
  redis: Redis;
  auditFolder: string;
  /** Resolves when it is in the log. @throws where that takes nothing */
  audit(event: Omit<PersonAuditEvent, "by">): Promise<void>;
  /** Disconnects all accounts of a person at MCP servers; resolves with how many there were. */
  disconnect(person: string): Promise<number>;
  now(): number;
}

/** Everybody whom the audit log names under seal, with the names that are known. */
export async function listKnownPeople(redis: Redis): Promise<KnownPerson[]> {
  const people = (await listPeople(redis)).map(({ person }) => person);
  const names = people.length === 0 ? [] : await redis.hmget(keys.names, ...people);
  return people.map((person, index) => ({ person, ...(names[index] && { name: names[index] }) }));
}

/**
 * Makes a person's names in the audit log unreadable, and deletes what is stored of them by name outside of threads.
 * What they have written is in threads, which are listed for whoever deletes them.
 *
 * @param person `platform:workspace:id`
 */
export async function forgetPerson(
  { redis, auditFolder, audit, disconnect, now }: ForgetPersonOptions,
  person: string,
): Promise<Forgotten> {
  const known = (await listPeople(redis)).find((one) => one.person === person);
  // The log says so first: a key that is gone without a word would look like a forgery.
  if (known) await audit({ action: "person-forgotten", alias: known.alias });
  await forgetNames(redis, person);
  await forgetHeard(redis, person);
  await redis.hdel(keys.names, person);
  await redis.hdel(keys.mentionChoices, person);
  const notes = keys.notes("user", person);
  const [noted] = await Promise.all([redis.hlen(notes), redis.unlink(notes)]);
  await redis.unlink(keys.mcpPrompts(person));
  let inClear = 0;
  for await (const entry of readAllEntries(redis, auditFolder)) if (namesInClear(entry, person)) inClear += 1;
  return {
    ...{ isSealed: known !== undefined, inClear, notes: noted },
    tokens: await revokeTokens(redis, person, now),
    browsers: person.startsWith(ofConsole) ? await endSignInsOf(redis, person.slice(ofConsole.length)) : 0,
    accounts: await disconnect(person),
    threads: await findThreads(redis, person),
  };
}

/** Of each platform the latest message is noted, with what its author is called. */
async function forgetHeard(redis: Redis, person: string): Promise<void> {
  const [platform = ""] = person.split(":");
  const [name, json] = await Promise.all([redis.hget(keys.names, person), redis.hget(keys.heard, platform)]);
  if (name !== null && json !== null && parseHeard(json)?.by === name) await redis.hdel(keys.heard, platform);
}

const ofConsole = "local:console:@";

async function revokeTokens(redis: Redis, person: string, now: () => number): Promise<number> {
  if (!person.startsWith(ofConsole)) return 0;
  const tokens = createAccessTokens(redis, now);
  const own = (await tokens.list()).filter(({ name }) => `${ofConsole}${name}` === person);
  for (const { id } of own) await tokens.revoke(id);
  return own.length;
}

/** Reads all journals of the person's workspace, a piece at a time. */
async function findThreads(redis: Redis, person: string): Promise<Forgotten["threads"]> {
  const [platform, workspace, ...rest] = person.split(":");
  const [id, place] = [rest.join(":"), `${platform}:${workspace}:`];
  const found: Forgotten["threads"] = [];
  for (const thread of await redis.zrange(keys.threads, "0", "-1")) {
    if (!thread.startsWith(place)) continue;
    const authors = new Set<string>();
    for await (const { records } of readForward(redis, thread))
      for (const record of records) if (record.type === "user") authors.add(record.message.author.id);
    if (authors.has(id)) found.push({ thread, alone: authors.size === 1 });
  }
  return found;
}
