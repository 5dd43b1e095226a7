import { MessageFlags, type REST, Routes, ThreadAutoArchiveDuration } from "discord.js";
import { z } from "zod";
import type { ThreadRef } from "../../../chat/threads.ts";
import { makeTitle } from "../../../chat/title.ts";
import { refusalCode } from "../connection/rest.ts";
import { readableText } from "../inbound/text.ts";
import { lockedThread } from "./errors.ts";
import { nobody } from "./render.ts";

/** Discord's limit is 100. */
export const nameChars = 90;

const unknownChannel = 10_003;
const unknownMessage = 10_008;
const archived = 50_083;
const alreadyMade = 160_004;
const missingPermissions = 50_013;

/** Does work that needs the thread to exist and to be open. */
export type InThread = <T>(rest: REST, thread: ThreadRef, work: () => Promise<T>) => Promise<T>;

const remembered = 10_000;

/**
 * Creates the thread of a message before anything is shown in it, once for all that is to be shown, and reopens one that
 * is archived. A locked one stays closed: only a moderator may open it. One that existed and is gone stays gone:
 * somebody has deleted it.
 */
export function createInThread(): InThread {
  /** What was found out about each thread, or is being: why it could not be looked for, or nothing. */
  const known = new Map<string, Promise<unknown>>();
  const ensureThread = (rest: REST, thread: ThreadRef): Promise<unknown> => {
    const earlier = known.get(thread.thread);
    if (earlier) return earlier;
    const made = findOrCreateThread(rest, thread);
    known.set(thread.thread, made);
    made.catch(() => known.delete(thread.thread));
    const [oldest] = known.keys();
    if (known.size > remembered && oldest !== undefined) known.delete(oldest);
    return made;
  };
  return async (rest, thread, work) => {
    // Where the channel is the thread, there is nothing to create.
    const refusal = thread.channel === thread.thread ? undefined : await ensureThread(rest, thread);
    try {
      return await inOpenThread(rest, thread.thread, work);
    } catch (error) {
      throw refusal !== undefined && refusalCode(error) === unknownChannel ? refusal : error;
    }
  };
}

/** Does work that an archived thread refuses, and reopens it if necessary. */
export async function inOpenThread<T>(rest: REST, where: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (refusalCode(error) !== archived) throw error;
    await unarchive(rest, where).catch((cause: unknown) => {
      throw refusalCode(cause) === missingPermissions ? lockedThread("opening", cause) : cause;
    });
    return await work();
  }
}

async function unarchive(rest: REST, where: string): Promise<void> {
  await rest.patch(Routes.channel(where), { body: { archived: false } });
}

/**
 * Creates the thread unless it exists. One that starts from a message has its id, and the message says so by a flag.
 * https://docs.discord.com/developers/resources/message#message-object-message-flags
 *
 * @returns Discord's refusal to tell of the message, where the thread may exist all the same
 */
async function findOrCreateThread(rest: REST, { channel, thread }: ThreadRef): Promise<unknown> {
  let start: z.infer<typeof messageSchema>;
  try {
    start = messageSchema.parse(await rest.get(Routes.channelMessage(channel, thread)));
  } catch (error) {
    const code = refusalCode(error);
    if (code === undefined) throw error;
    // A post of a forum, for example, starts from no message of the channel.
    return code === unknownMessage ? undefined : error;
  }
  if ((start.flags & MessageFlags.HasThread) !== 0) return undefined;
  const body = { name: nameFor(start), auto_archive_duration: ThreadAutoArchiveDuration.OneDay };
  try {
    await rest.post(Routes.threads(channel, thread), { body });
  } catch (cause) {
    // Another process was faster, and adds the asker too.
    if (refusalCode(cause) === alreadyMade) return undefined;
    throw cause;
  }
  // For the reply to a command, the person who used it. Discord notifies only members of a thread.
  const asker = start.interaction_metadata?.user ?? start.author;
  await rest.put(Routes.threadMembers(thread, asker.id)).catch(() => undefined);
  return undefined;
}

const messageSchema = z.object({
  author: z.object({ id: z.string() }),
  interaction_metadata: z.object({ user: z.object({ id: z.string() }) }).optional(),
  content: z.string(),
  flags: z.int().default(0),
  mentions: z.array(z.object({ id: z.string(), username: z.string(), global_name: z.string().nullish() })),
});

/** The first line of the task. */
function nameFor({ content, mentions }: z.infer<typeof messageSchema>): string {
  const names = new Map(mentions.map(({ id, username, global_name }) => [id, global_name || username]));
  const task = content.replace(/^\s*(?:<@[!&]?\d+>[\s,:;]*)+/, "");
  const text = readableText(task, "", (id) => names.get(id));
  return makeTitle(text, nameChars) || "Task";
}

/** Says in the channel why nothing can be posted in its thread, if that is allowed; once in some minutes, by the nonce. */
export async function tellInChannel(
  rest: REST,
  { channel, thread }: ThreadRef,
  content: string,
): Promise<void> {
  const body = {
    content,
    allowed_mentions: nobody,
    message_reference: { message_id: thread, fail_if_not_exists: false },
    nonce: `mute-${thread}`.slice(0, 25),
    enforce_nonce: true,
  };
  await rest.post(Routes.channelMessages(channel), { body }).catch(() => undefined);
}
