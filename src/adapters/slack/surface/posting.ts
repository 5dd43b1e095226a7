import type { ChatPostMessageArguments, WebClient } from "@slack/web-api";
import { keepWholeAnswer } from "../../../chat/markdown.ts";
import { type OutboundMessage, withoutFile } from "../../../chat/outbound.ts";
import { type ChatSurface, SurfaceError, wasAccepted } from "../../../chat/surface.ts";
import type { MessageRef, ThreadRef } from "../../../chat/threads.ts";
import { createWebClient, type SlackAccess } from "../connection/web.ts";
import { callSlack } from "./call.ts";
import type { CardSupport } from "./cards.ts";
import { refusesLayout, toSurfaceError } from "./errors.ts";
import {
  type Layout,
  maxAnswerChars,
  renderBeginning,
  type RenderedMessage,
  renderOne,
  renderParts,
} from "./render.ts";

/** Of a file of any size, ms. */
export const uploadMs = 300_000;

interface PostDeps {
  posts: WebClient;
  files: WebClient;
  cards: CardSupport;
  /** Called after each message that was posted. */
  onPosted(thread: ThreadRef): void;
}

/** Creates what posts messages: in parts where one is too long, as a file where there would be too many parts. */
export function createPost({ posts, files, cards, onPosted }: PostDeps): ChatSurface["post"] {
  /** Whether the whole answer was shared as a file, behind its beginning. */
  const shareWhole = async (
    thread: ThreadRef,
    whole: NonNullable<ReturnType<typeof keepWholeAnswer>>,
  ): Promise<boolean> => wasAccepted(shareFile(files, thread, whole));

  const renderAll = (message: OutboundMessage): RenderedMessage[] =>
    message.calls ? [renderOne(message, cards.areSupported)] : renderParts(message);

  return async (thread, message, key, posted = []) => {
    const refs: MessageRef[] = [...posted];
    const postNext = async (part: RenderedMessage) => {
      const partKey = `${key}#${refs.length}`;
      const ts = await withFallbackLayout(
        part,
        (layout) => postOnce(posts, thread, layout, partKey),
        cards.onRefused,
      );
      refs.push(messageRef(thread, ts));
    };
    try {
      // Before the question that it belongs to, so that nobody can decide without it.
      const file = refs.length === 0 ? message.file : undefined;
      const isAttached =
        !file ||
        (await shareWhole(thread, { name: file.name, data: Buffer.from(file.text), comment: attached }));
      const shown = isAttached ? message : withoutFile(message);
      const whole = keepWholeAnswer(message.markdown, maxAnswerChars);
      if (whole && refs.length === 0) await postNext(renderBeginning(shown));
      const isShared = whole && refs.length === 1 && (await shareWhole(thread, whole));
      if (!isShared) for (const part of renderAll(shown).slice(refs.length)) await postNext(part);
    } catch (error) {
      const { kind, message: text, retryAfterMs, limits, cause } = toSurfaceError("chat.postMessage", error);
      const partly = refs.length > posted.length;
      throw new SurfaceError(kind, text, { retryAfterMs, partly, limits, cause });
    }
    onPosted(thread);
    return refs;
  };
}

const attached = "The whole call, for the question below.";

export function messageRef({ workspace, channel }: ThreadRef, ts: string): MessageRef {
  return { platform: "slack", workspace, channel, message: ts };
}

/** How far Slack's clock may be behind ours when we look for a message that we may have posted. */
const clockToleranceMs = 60_000;

/**
 * Writes a message in the best layout that Slack takes: a layout that it refuses must not cost the answer.
 *
 * @param onRefused told about a layout that was refused
 */
export async function withFallbackLayout<T>(
  [layout, ...plainer]: RenderedMessage,
  write: (layout: Layout) => Promise<T>,
  onRefused: (layout: Layout) => void,
): Promise<T> {
  try {
    return await write(layout);
  } catch (error) {
    const [next, ...others] = plainer;
    if (!next || !refusesLayout(error)) throw error;
    onRefused(layout);
    return await withFallbackLayout([next, ...others], write, onRefused);
  }
}

/**
 * Posts a message and returns its `ts`.
 *
 * @param key marks the message in its metadata, so that it can be found when the answer to the post is lost
 */
async function postOnce(
  client: WebClient,
  thread: ThreadRef,
  { text, blocks }: Layout,
  key: string,
): Promise<string> {
  const message: ChatPostMessageArguments = {
    channel: thread.channel,
    thread_ts: thread.thread,
    unfurl_links: false,
    unfurl_media: false,
    metadata: { event_type: "heddle_message", event_payload: { key } },
    text,
    blocks,
  };
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- this is no window
  const { ts } = await client.chat.postMessage(message);
  if (ts === undefined) throw new Error("Slack's answer has no ts.");
  return ts;
}

/** Shares bytes as a file in the thread. Slack does that later and does not tell as which message. */
export async function shareFile(
  client: WebClient,
  { channel, thread }: ThreadRef,
  file: { name: string; data: Uint8Array; comment?: string },
): Promise<void> {
  await callSlack("files.uploadV2", () =>
    client.filesUploadV2({
      channel_id: channel,
      thread_ts: thread,
      filename: file.name,
      // A string would be taken as a path of this machine.
      file: Buffer.from(file.data),
      ...(file.comment !== undefined && { initial_comment: file.comment }),
    }),
  );
}

/** The same, until the signal ends it: nobody sees the file before the last of three requests. */
export async function shareUntilAborted(
  access: SlackAccess,
  thread: ThreadRef,
  file: { name: string; data: Uint8Array },
  signal: AbortSignal,
): Promise<void> {
  let isSharing = false;
  const client = createWebClient(access, {
    timeoutMs: uploadMs,
    fetch: (url, init) => {
      signal.throwIfAborted();
      const address = url instanceof Request ? url.url : url.toString();
      isSharing ||= address.endsWith("/files.completeUploadExternal");
      return fetch(url, { ...init, signal: AbortSignal.any([signal, init?.signal ?? signal]) });
    },
  });
  try {
    await shareFile(client, thread, file);
  } catch (error) {
    if (!signal.aborted) throw error;
    const [kind, what] = isSharing
      ? (["uncertain", `${file.name} may have been sent: Slack had not confirmed it yet.`] as const)
      : (["rejected", `${file.name} was not sent.`] as const);
    throw new SurfaceError(kind, what, { cause: error });
  }
}

/**
 * The parts of what we have posted with that key (`key#0`, `key#1` …), as far as they are in the thread without a
 * gap. Not finding one proves nothing.
 */
export async function findPosted(
  client: WebClient,
  thread: ThreadRef,
  key: string,
  since: number,
): Promise<string[]> {
  const [{ user_id: self }, { messages = [] }] = await Promise.all([
    client.auth.test(),
    client.conversations.replies({
      channel: thread.channel,
      ts: thread.thread,
      oldest: ((since - clockToleranceMs) / 1_000).toFixed(6),
      include_all_metadata: true,
      limit: 200,
    }),
  ]);
  // Every app can read the metadata of others, and write the same.
  const own = messages.filter(({ user }) => user === self);
  const byKey = new Map(own.map(({ ts, metadata }) => [readKey(metadata?.event_payload), ts]));
  const found: string[] = [];
  for (let ts = byKey.get(`${key}#0`); ts !== undefined; ts = byKey.get(`${key}#${found.length}`))
    found.push(ts);
  return found;
}

/** The SDK's type of a payload has no members. */
function readKey(payload: object | undefined): unknown {
  return payload && "key" in payload ? payload.key : undefined;
}
