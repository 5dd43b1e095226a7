import { createHash } from "node:crypto";
import { MessageFlags, type REST, Routes } from "discord.js";
import { z } from "zod";
import { type OutboundMessage, withoutFile } from "../../../chat/outbound.ts";
import { type ChatSurface, SurfaceError, wasAccepted } from "../../../chat/surface.ts";
import type { MessageRef, ThreadRef } from "../../../chat/threads.ts";
import { directWorkspace, locateMessage, messageRef } from "../connection/ids.ts";
import { refusalCode } from "../connection/rest.ts";
import type { DiscordCall } from "./call.ts";
import { toSurfaceError } from "./errors.ts";
import { makeForumPost } from "./forum-posts.ts";
import { nobody, renderFile, renderOne, renderParts } from "./render.ts";
import { type InThread, tellInChannel } from "./threads.ts";

interface PostingDeps {
  rest: REST;
  /** Separate, because a large file takes its time. */
  files: REST;
  inThread: InThread;
  call: DiscordCall;
  /** Whether messages without a mention can be read; if not, people are told to mention the bot. */
  messageContent: boolean;
}

interface UploadedFile {
  name: string;
  data: Buffer;
}

/** The bot may not read the history, and so reply to no message. https://docs.discord.com/developers/topics/opcodes-and-status-codes#json */
const needsHistory = 160_002;

/** The channel is a forum, for example. */
const noMessages = 50_008;

/** Long answers that are being posted. */
const maxUnfinished = 1_000;

const messageSchema = z.object({ id: z.string() });

/**
 * Creates the ways to write new messages: posting one, in parts where it is too long, replying to somebody's, and
 * uploading a file.
 */
export function createPosting(
  deps: PostingDeps,
): Required<Pick<ChatSurface, "post" | "openThread" | "replyTo" | "upload">> {
  const { rest, files, call } = deps;
  const unfinished = new Map<string, MessageRef[]>();

  const postParts = async (thread: ThreadRef, message: OutboundMessage, key: string, refs: MessageRef[]) => {
    const postNext = async (part: object, file?: UploadedFile) => {
      const via = file ? files : rest;
      const partKey = `${key}#${refs.length}`;
      const ref = await call("posting", thread, () => postOnce(deps, via, thread, part, partKey, file));
      if (ref) refs.push(ref);
    };
    const whole = refs.length === 0 ? renderFile(message) : undefined;
    if (whole && (await wasAccepted(postNext(whole.beginning, whole.file)))) return;
    const all = renderParts(message);
    for (const part of all.slice(refs.length, -1)) await postNext(part);
    const [last] = all.slice(refs.length).slice(-1);
    if (!last) return;
    // In one message with its buttons, so that nobody can decide without it.
    const file = message.file && { name: message.file.name, data: Buffer.from(message.file.text) };
    if (!file) return postNext(last);
    if (await wasAccepted(postNext(last, file))) return;
    for (const part of renderParts(withoutFile(message)).slice(refs.length)) await postNext(part);
  };

  /** Threads whose channel has been told that they are locked: what was to be said there is tried again and again. */
  const toldLocked = new Set<string>();
  const explain = async (thread: ThreadRef, why: string, isLocked: boolean) => {
    if (!isLocked) return tellInChannel(rest, thread, `I cannot answer here. ${why}`);
    if (toldLocked.has(thread.thread)) return;
    if (toldLocked.size >= maxUnfinished) toldLocked.clear();
    toldLocked.add(thread.thread);
    const waits =
      "I keep what I have to say there for six hours, and post it once a moderator unlocks the thread.";
    await tellInChannel(rest, thread, `The thread is locked. ${waits}`);
  };

  return {
    async post(thread, message, key, posted = []) {
      // A rate limit in the middle of a long answer must not start it again. What was found may be more: a part whose
      // answer was lost is not remembered.
      const remembered = unfinished.get(key) ?? [];
      const refs = posted.length > remembered.length ? [...posted] : remembered;
      unfinished.set(key, refs);
      const before = refs.length;
      try {
        await postParts(thread, addMentionHint(deps, thread, message), key, refs);
      } catch (error) {
        const failure = toSurfaceError("posting", error);
        const { kind, message: text, retryAfterMs, isLiftable, cause } = failure;
        // Nobody goes on with what was refused for good.
        if (!failure.isPassing && !isLiftable) unfinished.delete(key);
        // People who wait for an answer should learn why there is none.
        if (kind === "forbidden" && thread.thread !== thread.channel) await explain(thread, text, isLiftable);
        throw new SurfaceError(kind, text, { retryAfterMs, partly: refs.length > before, isLiftable, cause });
      } finally {
        const [oldest] = unfinished.keys();
        if (unfinished.size > maxUnfinished && oldest !== undefined) unfinished.delete(oldest);
      }
      unfinished.delete(key);
      toldLocked.delete(thread.thread);
      return refs;
    },

    // The thread is made of the message when something is shown in it first.
    async openThread(channel, markdown, key, since) {
      const place = { ...channel, thread: channel.channel };
      const [part] = renderParts({ kind: "notice", markdown });
      if (!part) throw new SurfaceError("rejected", "There is nothing to begin a thread with.");
      const ref = await call("posting", place, async () => {
        try {
          return await postOnce(deps, rest, place, part, `${key}#0`);
        } catch (error) {
          if (refusalCode(error) !== noMessages) throw error;
          const post = await makeForumPost(rest, { channel, message: part, since });
          return messageRef(channel, { where: post, message: post });
        }
      });
      if (!ref) throw new SurfaceError("gone", "Discord no longer has the channel.");
      return { thread: { ...channel, thread: locateMessage(ref).message }, ref };
    },

    async replyTo(ref, markdown, key) {
      const { where, message } = locateMessage(ref);
      const { content, flags } = renderOne({ kind: "notice", markdown });
      const reply = (how: object) =>
        rest.post(Routes.channelMessages(where), {
          body: { content, flags, nonce: toNonce(key), enforce_nonce: true, ...how },
        });
      await call("a reply", ref, async () => {
        try {
          // https://docs.discord.com/developers/resources/message#allowed-mentions-object
          const allowed_mentions = { parse: [], replied_user: true };
          const reference = { message_id: message, fail_if_not_exists: false };
          await reply({ allowed_mentions, message_reference: reference });
        } catch (error) {
          if (refusalCode(error) !== needsHistory) throw error;
          await reply({ allowed_mentions: nobody });
        }
      });
    },

    async upload(thread, { name, data }, key, signal) {
      // The answer that follows notifies people.
      const body = { allowed_mentions: nobody, flags: MessageFlags.SuppressNotifications };
      const file = { name, data: Buffer.from(data) };
      const ref = await call(`the file ${name}`, thread, () =>
        postOnce(deps, files, thread, body, key, { ...file, ...(signal && { signal }) }),
      );
      return ref ? [ref] : [];
    },
  };
}

/** Idempotent by the key, as long as Discord compares nonces. */
async function postOnce(
  { inThread }: PostingDeps,
  via: REST,
  thread: ThreadRef,
  body: object,
  key: string,
  file?: UploadedFile & { signal?: AbortSignal },
): Promise<MessageRef> {
  const answer = await inThread(via, thread, () =>
    via.post(Routes.channelMessages(thread.thread), {
      body: {
        ...body,
        nonce: toNonce(key),
        enforce_nonce: true,
        ...(file && { attachments: [{ id: "0", filename: file.name }] }),
      },
      ...(file && { files: [{ name: file.name, data: file.data }] }),
      ...(file?.signal && { signal: file.signal }),
    }),
  );
  return messageRef(thread, { where: thread.thread, message: messageSchema.parse(answer).id });
}

/** Without the permission to read everything, follow-ups need a mention, which people should know. */
export function addMentionHint(
  { messageContent }: Pick<PostingDeps, "messageContent">,
  thread: ThreadRef,
  message: OutboundMessage,
): OutboundMessage {
  const needsMention = !messageContent && thread.workspace !== directWorkspace;
  if (!needsMention || message.kind !== "answer") return message;
  const hint = "Mention me or reply to me to go on";
  return { ...message, footer: [message.footer, hint].filter(Boolean).join(" · ") };
}

/** The same for the same key; a nonce has at most 25 characters. */
export function toNonce(key: string): string {
  return createHash("sha256").update(key).digest("base64url").slice(0, 25);
}
