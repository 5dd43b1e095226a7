import type { Redis } from "ioredis";
import { z } from "zod";
import type { Speaker } from "../../agent/messages.ts";
import { createStoredParser } from "../../agent/text/parse-stored.ts";
import { speakerSchema } from "../../agent/journal/schemas.ts";
import type { ThreadId } from "../../chat/threads.ts";
import { daySeconds, keys } from "../redis/keys.ts";

/** A repository as its host names it. */
export interface RepositoryAddress {
  /** With the port where the host is not on its usual one, e.g. `github.com`. */
  host: string;
  /** Owner and name, e.g. `acme/shop`. Hosts do not tell capital letters apart, and neither is it done here. */
  repository: string;
}

/** What a thread has pushed, and the pull request once there is one. */
export interface ThreadBranch extends RepositoryAddress {
  thread: ThreadId;
  branch: string;
  /** The one that is pushed, where that is known. */
  commit?: string;
  /** Whose task it was. */
  requester: Speaker;
  /** Absent before the pull request is opened. */
  pullRequest?: { number: number; url: string };
  /** Milliseconds since the epoch. */
  at: number;
}

const parse = createStoredParser<ThreadBranch>(
  z.looseObject({
    host: z.string(),
    repository: z.string(),
    thread: z.string(),
    branch: z.string(),
    commit: z.string().exactOptional(),
    requester: speakerSchema,
    pullRequest: z.looseObject({ number: z.number(), url: z.string() }).exactOptional(),
    at: z.number(),
  }),
);

/** Reviews may take long; each push counts anew. */
const rememberedSeconds = 90 * daySeconds;

/**
 * Remembers which thread a branch belongs to, and its pull request. To be called before the push, since the host may
 * tell of it at once, and again when the pull request is there.
 */
export async function rememberThreadBranch(redis: Redis, entry: ThreadBranch): Promise<void> {
  const json = JSON.stringify({ v: 1, ...entry });
  const { branch, commit, pullRequest } = entry;
  const names = [
    `branch:${branch}`,
    ...(commit === undefined ? [] : [`commit:${commit}`]),
    ...(pullRequest ? [String(pullRequest.number)] : []),
  ];
  await Promise.all(names.map((name) => redis.set(keyOf(entry, name), json, "EX", rememberedSeconds)));
}

/**
 * What a thread has pushed there, by the number of the pull request or, where an event tells only that, by the branch or the
 * commit.
 * Undefined where no thread has, or what is stored cannot be read.
 *
 * @example
 * const found = await findThreadBranch(redis, { host: "github.com", repository: "acme/shop", number: 17 });
 * found?.thread; // "slack:T1:C1:1712.5"
 */
export async function findThreadBranch(
  redis: Redis,
  {
    number,
    branch,
    commit,
    ...address
  }: RepositoryAddress & {
    number?: number;
    branch?: string;
    commit?: string;
  },
): Promise<ThreadBranch | undefined> {
  const names = [
    ...(number === undefined ? [] : [String(number)]),
    ...(branch === undefined ? [] : [`branch:${branch}`]),
    ...(commit === undefined ? [] : [`commit:${commit}`]),
  ];
  for (const name of names) {
    const json = await redis.get(keyOf(address, name));
    const parsed = json === null ? undefined : parse(json);
    if (parsed?.ok) return parsed.value;
  }
  return undefined;
}

/** What is known of a thread's branches, by the value that is stored. */
export function isBranchOf(json: string, thread: ThreadId): boolean {
  const parsed = parse(json);
  return parsed.ok && parsed.value.thread === thread;
}

function keyOf({ host, repository }: RepositoryAddress, name: string): string {
  return keys.pullRequest(`${host}/${repository}`.toLowerCase(), name);
}
