import { createHash } from "node:crypto";
import { type REST, Routes } from "discord.js";
import { z } from "zod";
import type { ContextMessage } from "../../../chat/inbound.ts";
import type { MarkOptions, MessageMark, OutboundMessage } from "../../../chat/outbound.ts";
import { type ChatSurface, SurfaceError, wasAccepted } from "../../../chat/surface.ts";
import type { MessageRef, ThreadRef } from "../../../chat/threads.ts";
import { directWorkspace, locateMessage, messageRef } from "../connection/ids.ts";
import { createPeople } from "../connection/people.ts";
import { createRest, type DiscordAccess, refusalCode } from "../connection/rest.ts";
import { explainMissing } from "../installation/permissions.ts";
import { downloadAttachment } from "./attachments.ts";
import { surfaceError } from "./errors.ts";
import { fetchQuotesBefore } from "./quotes.ts";
import { messageChars, nobody, renderFile, renderOne, renderParts } from "./render.ts";
import { createInThread, inOpenThread, tellInChannel } from "./threads.ts";

const emojiOf: Record<MessageMark, string> = {
  taken: "👀",
  waiting: "⏳",
  answered: "✅",
  stopped: "🛑",
  failed: "⚠️",
};

/**
 * Discord states its limits only in the headers of its answers; these are what it is known to allow in a thread, so
 * that it has to refuse little. https://docs.discord.com/developers/topics/rate-limits
 */
const budget = { messages: { burst: 5, intervalMs: 1_000 }, marks: { burst: 1, intervalMs: 300 } };
const editIntervalMs = 1_500;
/** “… is typing” goes away after ten seconds, and with our next message. https://docs.discord.com/developers/resources/channel#trigger-typing-indicator */
const statusPace = { changeMs: 9_000, fadesMs: 0 };
/** Past an hour Discord allows only some edits of a message (30046). */
const editableMs = 50 * 60_000;
/** Discord compares nonces for “the past few minutes”. https://docs.discord.com/developers/resources/message#create-message */
const idempotentMs = 120_000;

/** Long answers that are being posted. */
const mostBegun = 1_000;

export interface DiscordSurfaceOptions extends DiscordAccess {
  /** Reactions that show the state of a message, where they are others than usual; "" for none. */
  marks?: Partial<Record<MessageMark, string>>;
  /** Another address of the CDN. Default: Discord's own. */
  cdnUrl?: string;
  /** Whether messages without a mention can be read; if not, people are told to mention the bot. */
  messageContent: boolean;
}

const messageSchema = z.object({ id: z.string() });
const channelSchema = z.object({ name: z.string().nullish() });
const reactionsSchema = z.object({
  reactions: z
    .array(z.object({ me: z.boolean(), emoji: z.object({ name: z.string().nullish() }) }))
    .default([]),
});

/** A way to write into Discord. It needs no gateway, so it works in worker processes too. */
export function createDiscordSurface(options: DiscordSurfaceOptions): ChatSurface {
  const rest = createRest(options, { timeoutMs: 20_000 });
  // Apart, because a large file takes its time.
  const files = createRest(options, { timeoutMs: 300_000 });
  const people = createPeople(rest);
  const inThread = createInThread();
  const emoji = { ...emojiOf, ...options.marks };
  const begun = new Map<string, MessageRef[]>();

  /** Calls Discord; a refusal with one of the `harmless` codes counts as done. */
  const call = async <T>(
    what: string,
    place: Pick<ThreadRef, "workspace" | "channel">,
    work: () => Promise<T>,
    harmless: number[] = [],
  ): Promise<T | undefined> => {
    try {
      return await work();
    } catch (cause) {
      const code = refusalCode(cause);
      if (code !== undefined && harmless.includes(code)) return undefined;
      const error = surfaceError(what, cause);
      if (error.kind !== "forbidden" || place.workspace === directWorkspace) throw error;
      const why = await explainMissing(rest, place.workspace, place.channel);
      throw why ? new SurfaceError("forbidden", why, { cause }) : error;
    }
  };

  const postOnce = async (
    via: REST,
    thread: ThreadRef,
    body: object,
    key: string,
    file?: { name: string; data: Buffer },
  ) => {
    const posted = await inThread(via, thread, () =>
      via.post(Routes.channelMessages(thread.thread), {
        body: {
          ...body,
          nonce: nonceOf(key),
          enforce_nonce: true,
          ...(file && { attachments: [{ id: 0, filename: file.name }] }),
        },
        ...(file && { files: [file] }),
      }),
    );
    return messageRef(thread, { where: thread.thread, message: messageSchema.parse(posted).id });
  };

  /** Without the right to read everything, follow-ups need a mention; people should know. */
  const hinted = (thread: ThreadRef, message: OutboundMessage): OutboundMessage => {
    const isDeaf = !options.messageContent && thread.workspace !== directWorkspace;
    if (!isDeaf || message.kind !== "answer") return message;
    return {
      ...message,
      footer: [message.footer, "Mention me or reply to me to go on"].filter(Boolean).join(" · "),
    };
  };

  return {
    platform: "discord",
    limits: { budget, editIntervalMs, editableMs, places: numbers.length, status: statusPace, messageChars },
    idempotentMs,

    budgetPlace: (of) => ("thread" in of ? of.thread : locateMessage(of).where),

    async post(thread, message, key, posted = []) {
      // A limit in the middle of a long answer must not begin it anew.
      const refs = begun.get(key) ?? [...posted];
      begun.set(key, refs);
      const before = refs.length;
      const shown = hinted(thread, message);
      const postNext = async (part: object, file?: { name: string; data: Buffer }) => {
        const via = file ? files : rest;
        const partKey = `${key}#${refs.length}`;
        const ref = await call("posting", thread, () => postOnce(via, thread, part, partKey, file));
        if (ref) refs.push(ref);
      };
      try {
        const whole = refs.length === 0 ? renderFile(shown) : undefined;
        if (!(whole && (await wasAccepted(postNext(whole.beginning, whole.file))))) {
          for (const part of renderParts(shown).slice(refs.length)) await postNext(part);
        }
      } catch (error) {
        const { kind, message: text, retryAfterMs, cause } = surfaceError("posting", error);
        // Whoever waits for an answer should learn why there is none.
        if (kind === "forbidden" && thread.thread !== thread.channel)
          await tellInChannel(rest, thread, `I cannot answer here. ${text}`);
        throw new SurfaceError(kind, text, { retryAfterMs, partly: refs.length > before, cause });
      } finally {
        const [oldest] = begun.keys();
        if (begun.size > mostBegun && oldest !== undefined) begun.delete(oldest);
      }
      begun.delete(key);
      return refs;
    },

    async edit(ref, message) {
      const { where, message: id } = locateMessage(ref);
      const body = renderOne(message);
      await call("editing", ref, () =>
        inOpenThread(rest, where, () => rest.patch(Routes.channelMessage(where, id), { body })),
      );
    },

    async remove(ref) {
      const { where, message } = locateMessage(ref);
      await call("deleting", ref, () => rest.delete(Routes.channelMessage(where, message)), [10_008]);
    },

    async threadOf(ref) {
      const { platform, workspace, channel } = ref;
      const { where, message } = locateMessage(ref);
      const found = await call(
        "looking",
        ref,
        () => rest.get(Routes.channelMessage(where, message)),
        [10_003, 10_008],
      );
      if (!found) return undefined;
      const isStart = where === channel && workspace !== directWorkspace;
      return { platform, workspace, channel, thread: isStart ? message : where };
    },

    async mark(ref, mark, how = {}) {
      await call("marking", ref, () =>
        inOpenThread(rest, locateMessage(ref).where, () => showMark(rest, emoji, ref, mark, how)),
      );
    },

    async status(thread, text) {
      if (text === undefined) return;
      try {
        await inThread(rest, thread, () => rest.post(Routes.channelTyping(thread.thread)));
      } catch (cause) {
        const error = surfaceError("typing", cause);
        if (error.kind === "forbidden" || error.kind === "gone") throw error;
      }
    },

    async upload(thread, { name, data }, key) {
      const body = { allowed_mentions: nobody };
      const file = { name, data: Buffer.from(data) };
      const ref = await call(`the file ${name}`, thread, () => postOnce(files, thread, body, key, file));
      return ref ? [ref] : [];
    },

    async channelName(thread) {
      if (thread.workspace === directWorkspace) return "direct messages";
      const channel = await call("the look-up of a channel", thread, () =>
        rest.get(Routes.channel(thread.channel)),
      );
      return channelSchema.parse(channel).name ?? undefined;
    },

    person: async ({ workspace }, id) => {
      try {
        return await people(id, workspace);
      } catch (error) {
        throw surfaceError("the look-up of a person", error);
      }
    },

    download: (file, signal) => downloadAttachment(rest, file, signal, options.cdnUrl),

    async earlier(thread, before, limit): Promise<ContextMessage[]> {
      const { where, message } = locateMessage(before);
      // The message that a thread starts with is in the channel, and nothing is before it in the thread.
      if (where !== thread.thread) return [];
      return (
        (await call("reading", thread, () => fetchQuotesBefore(rest, people, thread, { message, limit }))) ??
        []
      );
    },
  };
}

/** The same for the same key; a nonce has at most 25 characters. */
function nonceOf(key: string): string {
  return createHash("sha256").update(key).digest("base64url").slice(0, 25);
}

/** The place of a message that waits; the last one stands for all that are later. */
const numbers = [...Array.from({ length: 9 }, (_number, index) => `${index + 1}\ufe0f\u20e3`), "🔟"];

/** Adds the reaction of the mark and takes away our others. */
async function showMark(
  rest: REST,
  emoji: Record<MessageMark, string>,
  ref: MessageRef,
  mark: MessageMark,
  { place, isFirst }: MarkOptions,
): Promise<void> {
  const { where, message } = locateMessage(ref);
  const own = (name: string) => Routes.channelMessageOwnReaction(where, message, encodeURIComponent(name));
  const wanted = [emoji[mark], place && emoji[mark] ? numbers[Math.min(place, numbers.length) - 1] : ""];
  if (isFirst && !place) {
    if (emoji[mark]) await rest.put(own(emoji[mark]));
    return;
  }
  // First, because Discord takes few reactions at once: whoever is stopped by the limit goes on from here.
  const { reactions } = reactionsSchema.parse(await rest.get(Routes.channelMessage(where, message)));
  const shown = new Set(reactions.flatMap((reaction) => (reaction.me ? (reaction.emoji.name ?? []) : [])));
  for (const next of wanted) if (next && !shown.has(next)) await rest.put(own(next));
  for (const earlier of [...Object.values(emoji), ...numbers]) {
    if (!wanted.includes(earlier) && shown.has(earlier)) await rest.delete(own(earlier));
  }
}
