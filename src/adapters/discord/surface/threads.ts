import { type REST, Routes, ThreadAutoArchiveDuration } from "discord.js";
import { z } from "zod";
import type { ThreadRef } from "../../../chat/threads.ts";
import { makeTitle } from "../../../chat/title.ts";
import { refusalCode } from "../connection/rest.ts";
import { readableText } from "../inbound/text.ts";
import { nobody } from "./render.ts";

/** Discord's limit is 100. */
const nameChars = 90;

const unknownChannel = 10_003;
const archived = 50_083;
const alreadyMade = 160_004;

/** Does work that needs the thread to exist and to be open. */
export type InThread = <T>(rest: REST, thread: ThreadRef, work: () => Promise<T>) => Promise<T>;

const remembered = 10_000;

/**
 * Creates the thread of a message once something is to be shown in it, and reopens one that is archived. A locked one
 * stays closed: only a moderator may open it. One that existed and is gone stays gone: somebody has deleted it.
 */
export function createInThread(): InThread {
  const seen = new Set<string>();
  return async (rest, thread, work) => {
    const done = async () => {
      const result = await work();
      seen.add(thread.thread);
      const [oldest] = seen;
      if (seen.size > remembered && oldest !== undefined) seen.delete(oldest);
      return result;
    };
    try {
      return await done();
    } catch (error) {
      switch (refusalCode(error)) {
        case unknownChannel:
          // Where the channel is the thread, there is nothing to create.
          if (thread.channel === thread.thread || seen.has(thread.thread)) throw error;
          await createThread(rest, thread);
          break;
        case archived:
          await unarchive(rest, thread.thread);
          break;
        default:
          throw error;
      }
      return done();
    }
  };
}

/** Does work that an archived thread refuses, and reopens it if necessary. */
export async function inOpenThread<T>(rest: REST, where: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (refusalCode(error) !== archived) throw error;
    await unarchive(rest, where);
    return await work();
  }
}

async function unarchive(rest: REST, where: string): Promise<void> {
  await rest.patch(Routes.channel(where), { body: { archived: false } });
}

async function createThread(rest: REST, { channel, thread }: ThreadRef): Promise<void> {
  const start = messageSchema.parse(await rest.get(Routes.channelMessage(channel, thread)));
  const body = { name: nameFor(start), auto_archive_duration: ThreadAutoArchiveDuration.OneDay };
  try {
    await rest.post(Routes.threads(channel, thread), { body });
  } catch (cause) {
    // Another process was faster.
    if (refusalCode(cause) !== alreadyMade) throw cause;
  }
  // For the reply to a command, the person who used it. Discord notifies only members of a thread.
  const asker = start.interaction_metadata?.user ?? start.author;
  await rest.put(Routes.threadMembers(thread, asker.id)).catch(() => undefined);
}

const messageSchema = z.object({
  author: z.object({ id: z.string() }),
  interaction_metadata: z.object({ user: z.object({ id: z.string() }) }).optional(),
  content: z.string(),
  mentions: z.array(z.object({ id: z.string(), username: z.string(), global_name: z.string().nullish() })),
});

/** The first line of the task. */
function nameFor({ content, mentions }: z.infer<typeof messageSchema>): string {
  const names = new Map(mentions.map(({ id, username, global_name }) => [id, global_name || username]));
  const text = readableText(content.replace(/^(?:\s*<@!?\d+>)+/, ""), "", (id) => names.get(id));
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
