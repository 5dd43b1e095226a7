import { type REST, Routes, ThreadAutoArchiveDuration } from "discord.js";
import { z } from "zod";
import { SurfaceError, type ThreadRef } from "../adapter.ts";
import { surfaceError } from "./errors.ts";
import { readableText } from "./inbound-text.ts";
import { explainMissing } from "./permissions.ts";
import { nobody } from "./render.ts";
import { refusalCode } from "./rest.ts";

/** Discord's limit is 100. */
const nameChars = 90;

const unknownChannel = 10_003;
const archived = 50_083;
const alreadyMade = 160_004;

/**
 * Does what needs a thread. The thread of a message is made when the first thing is to be shown in it; one that is
 * archived is opened. A locked one stays closed: only a moderator may open it.
 */
export async function inThread<T>(rest: REST, thread: ThreadRef, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    switch (refusalCode(error)) {
      case unknownChannel:
        // Where the channel is the thread, there is nothing to make.
        if (thread.channel === thread.thread) throw error;
        await make(rest, thread);
        break;
      case archived:
        await open(rest, thread.thread);
        break;
      default:
        throw error;
    }
    return await work();
  }
}

/** Does what must not be done in an archived thread. */
export async function inOpen<T>(rest: REST, where: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (refusalCode(error) !== archived) throw error;
    await open(rest, where);
    return await work();
  }
}

async function open(rest: REST, where: string): Promise<void> {
  await rest.patch(Routes.channel(where), { body: { archived: false } });
}

async function make(rest: REST, { workspace, channel, thread }: ThreadRef): Promise<void> {
  const start = messageSchema.parse(await rest.get(Routes.channelMessage(channel, thread)));
  const body = { name: nameFor(start), auto_archive_duration: ThreadAutoArchiveDuration.OneDay };
  try {
    await rest.post(Routes.threads(channel, thread), { body });
  } catch (cause) {
    // Another process was faster.
    if (refusalCode(cause) === alreadyMade) return;
    const error = surfaceError("opening a thread", cause);
    if (error.kind !== "forbidden") throw error;
    const why = (await explainMissing(rest, workspace, channel)) ?? error.message;
    await tellInChannel(rest, channel, thread, `I cannot open a thread here. ${why}`);
    throw new SurfaceError("forbidden", why, { cause });
  }
}

const messageSchema = z.object({
  content: z.string(),
  mentions: z.array(z.object({ id: z.string(), username: z.string(), global_name: z.string().nullish() })),
});

/** The first line of what was asked. */
function nameFor({ content, mentions }: z.infer<typeof messageSchema>): string {
  const names = new Map(mentions.map(({ id, username, global_name }) => [id, global_name || username]));
  const text = readableText(content.replace(/^(?:\s*<@!?\d+>)+/, ""), "", (id) => names.get(id));
  const [line = ""] = text
    .replaceAll(/[*_`~#>|]/g, "")
    .trim()
    .split("\n");
  return (
    line
      .trim()
      .slice(0, nameChars)
      .replace(/[\uD800-\uDBFF]$/, "")
      .trim() || "Task"
  );
}

/** Where there is no thread, the channel is the only place to say why. At most once, by the nonce. */
async function tellInChannel(rest: REST, channel: string, message: string, content: string): Promise<void> {
  const body = {
    content,
    allowed_mentions: nobody,
    message_reference: { message_id: message, fail_if_not_exists: false },
    nonce: `no-thread-${message}`.slice(0, 25),
    enforce_nonce: true,
  };
  await rest.post(Routes.channelMessages(channel), { body }).catch(() => undefined);
}
