import type { Redis } from "ioredis";
import { isFromPerson, type UserMessage } from "../../agent/messages.ts";
import { parseThreadId, type ThreadId } from "../../chat/threads.ts";
import { keys } from "../redis/keys.ts";

/**
 * Whether the end of a turn mentions somebody who asked for it: of each turn, or never. Whoever has chosen nothing is
 * mentioned as the operator has set it.
 */
export type MentionChoice = (typeof choices)[number];

const choices = ["on", "off"] as const;

/** Where somebody has an account: a choice holds there, in all threads. */
interface Person {
  platform: string;
  workspace: string;
  id: string;
}

const fieldOf = ({ platform, workspace, id }: Person) => `${platform}:${workspace}:${id}`;

/** What somebody has chosen; undefined where that is nothing, or a word of a later Heddle. */
export async function fetchMentionChoice(redis: Redis, person: Person): Promise<MentionChoice | undefined> {
  return readChoice(await redis.hget(keys.mentionChoices, fieldOf(person)));
}

/** @param choice undefined takes back what was chosen */
export async function setMentionChoice(
  redis: Redis,
  person: Person,
  choice: MentionChoice | undefined,
): Promise<void> {
  if (choice === undefined) await redis.hdel(keys.mentionChoices, fieldOf(person));
  else await redis.hset(keys.mentionChoices, fieldOf(person), choice);
}

/** What the people who wrote these messages have chosen, by their ids; whoever has chosen nothing is left out. */
export async function fetchMentionChoices(
  redis: Redis,
  thread: ThreadId,
  messages: readonly UserMessage[],
): Promise<ReadonlyMap<string, MentionChoice>> {
  const ids = [...new Set(messages.filter(isFromPerson).map(({ author }) => author.id))];
  if (ids.length === 0) return new Map();
  const { platform, workspace } = parseThreadId(thread);
  const fields = ids.map((id) => fieldOf({ platform, workspace, id }));
  const stored = await redis.hmget(keys.mentionChoices, ...fields);
  const chosen = new Map<string, MentionChoice>();
  for (const [index, id] of ids.entries()) {
    const choice = readChoice(stored[index] ?? null);
    if (choice) chosen.set(id, choice);
  }
  return chosen;
}

function readChoice(stored: string | null): MentionChoice | undefined {
  return choices.find((choice) => choice === stored);
}
