import type { types, webApi } from "@slack/bolt";
import { cutOpenKey } from "../../../agent/secrets/open-key.ts";
import type { OutboundMessage } from "../../../chat/outbound.ts";
import type { RequestLimit } from "../../../chat/request-limit.ts";
import type { MessageRef, ThreadRef } from "../../../chat/threads.ts";
import { refusalCode } from "../connection/web.ts";
import { createMetadata } from "./metadata.ts";
import { callSlack } from "./call.ts";
import { toSurfaceError } from "./errors.ts";
import type { Features } from "./features.ts";
import { createStartLimits } from "./stream-starts.ts";
import { escapeMentions, renderUnder, toTasks } from "./render.ts";

type Chunk = types.AnyChunk;

/** What one message that grows has got so far. */
interface Stream {
  startedAt: number;
  text: string;
  title: string;
  tasks: Map<string, types.TaskUpdateChunk>;
  weight: number;
}

/** Messages that grow, as Slack's own streams. What this process has not started, it does not know. */
export interface Streams {
  has(ref: MessageRef): boolean;
  /**
   * Starts one; without `ts` it has nothing to show yet. Undefined where the message is to be posted the ordinary way.
   * @throws SurfaceError where nobody knows whether it was started
   */
  start(thread: ThreadRef, message: OutboundMessage): Promise<{ ts?: string } | undefined>;
  /**
   * Brings it to that content, in place of an edit: adds what is new, or ends it with an answer that it has begun.
   * @returns false where the message must be edited: it does not grow, or not any more
   */
  write(ref: MessageRef, message: OutboundMessage): Promise<boolean>;
  /**
   * Ends it whoever has started it; false where it was none that grows.
   *
   * @param key by which it can be found afterwards; without it, it is known already
   */
  end(channel: string, ts: string, key?: string): Promise<boolean>;
}

/**
 * Slack ends a stream by itself after some five minutes, and then shows that it broke (seen in the field, not documented:
 * https://github.com/slackapi/python-slack-sdk/issues/1859). Before that it becomes a message that is edited.
 */
const longestMs = 4 * 60_000;

/**
 * Characters, those of outputs twice. A streamed message was found to be too long from some 10,600 bytes on
 * (https://github.com/openclaw/openclaw/pull/143882).
 */
const mostBytes = 9_000;

/** https://docs.slack.dev/reference/block-kit/blocks/plan-block */
const mostTasks = 45;

/** Of a stream whose turn was lost nobody here hears again: it ends with whoever has gone on with the turn. */
const forgottenMs = 3_600_000;

/** These say that the workspace has none of it, not that this one message may not grow. */
const lacking = new Set([
  ...["unknown_method", "missing_scope", "not_allowed_token_type", "feature_not_enabled"],
  ...["access_denied", "no_permission", "method_deprecated", "deprecated_endpoint"],
]);

export interface StreamDeps {
  client: webApi.WebClient;
  features: Features;
  /** Shared by all processes, see `startLimit`; absent: this process counts its own. */
  starts?(team: string): RequestLimit;
  /** Whether Slack shows its own Stop button: a message that grows has none of ours. */
  hasStopButton(thread: ThreadRef): boolean;
  now?(): number;
}

export function createStreams({
  client,
  features,
  hasStopButton,
  starts,
  now = Date.now,
}: StreamDeps): Streams {
  const open = new Map<string, Stream>();
  const limitOf = createStartLimits(starts);
  const idOf = (ref: Pick<MessageRef, "channel" | "message">) => `${ref.channel}:${ref.message}`;

  const end = async (channel: string, ts: string, key?: string) => {
    open.delete(`${channel}:${ts}`);
    const request = { channel, ts, ...(key !== undefined && { metadata: createMetadata({ key }) }) };
    const ended = await callSlack("chat.stopStream", () => client.chat.stopStream(request), [
      ...["message_not_in_streaming_state", "message_not_found", "message_not_owned_by_app"],
      "stopped_by_user",
    ]);
    return ended !== undefined;
  };

  const send = (ref: MessageRef, method: string, call: () => Promise<unknown>): Promise<boolean> =>
    wasTaken(method, call, () => open.delete(idOf(ref)));

  const finish = async (ref: MessageRef, stream: Stream, message: OutboundMessage): Promise<boolean> => {
    const text = escapeMentions(message.markdown);
    if (message.kind !== "answer" || !text.startsWith(stream.text)) return false;
    const rest = text.slice(stream.text.length);
    const tasks = message.calls ? newTasks(stream, message.calls) : [];
    const title = message.calls?.title ?? "";
    const chunks = [...toChunks(stream, { title, tasks, text: rest })];
    if (stream.weight + weigh(chunks) > mostBytes) return false;
    const isEnded = await send(ref, "chat.stopStream", () =>
      client.chat.stopStream({
        ...{ channel: ref.channel, ts: ref.message },
        ...(chunks.length > 0 && { chunks }),
        blocks: renderUnder(message, features),
        metadata: createMetadata({ key: "stream" }),
      }),
    );
    if (isEnded) open.delete(idOf(ref));
    return isEnded;
  };

  const append = async (ref: MessageRef, stream: Stream, message: OutboundMessage): Promise<boolean> => {
    const next = now() - stream.startedAt < longestMs ? grow(stream, message) : undefined;
    if (!next) return false;
    if (next.chunks.length === 0) return true;
    const { channel, message: ts } = ref;
    const { chunks } = next;
    const isTaken = await send(ref, "chat.appendStream", () =>
      client.chat.appendStream({ channel, ts, chunks }),
    );
    if (isTaken) open.set(idOf(ref), next.stream);
    return isTaken;
  };

  return {
    has: (ref) => open.has(idOf(ref)),

    async start(thread, message) {
      const { growing } = message;
      if (!growing || !features.has("streams") || !hasStopButton(thread)) return undefined;
      const empty = { startedAt: now(), text: "", title: "", tasks: new Map(), weight: 0 };
      const first = grow(empty, message);
      if (!first) return undefined;
      if (first.chunks.length === 0) return {};
      const limit = limitOf(thread.workspace);
      // Whoever would have to wait for it is better told in another way.
      if ((await limit.acquire(false)).kind !== "go") return undefined;
      try {
        const { ts } = await client.chat.startStream({
          ...{ channel: thread.channel, thread_ts: thread.thread },
          ...{ recipient_user_id: growing.reader, recipient_team_id: thread.workspace },
          ...{ task_display_mode: "plan", chunks: first.chunks },
        });
        if (ts === undefined) throw new Error("Slack's answer has no ts.");
        for (const [id, { startedAt }] of open) if (now() - startedAt > forgottenMs) open.delete(id);
        open.set(`${thread.channel}:${ts}`, first.stream);
        return { ts };
      } catch (error) {
        const failure = toSurfaceError("chat.startStream", error);
        if (failure.kind === "uncertain") throw failure;
        if (failure.kind === "rate-limited") await limit.pause(failure.retryAfterMs);
        if (lacking.has(refusalCode(error) ?? "")) features.onRefused("streams");
        return undefined;
      }
    },

    async write(ref, message) {
      const stream = open.get(idOf(ref));
      if (!stream) return false;
      const isWritten = message.growing
        ? await append(ref, stream, message)
        : await finish(ref, stream, message);
      if (!isWritten) await end(ref.channel, ref.message);
      return isWritten;
    },

    end,
  };
}

/**
 * Adds to a stream or ends it; false where Slack does not let it grow so.
 *
 * @param onLost whether it has got this is not known, and sending it again may double it
 */
async function wasTaken(method: string, call: () => Promise<unknown>, onLost: () => void): Promise<boolean> {
  try {
    await call();
    return true;
  } catch (error) {
    const failure = toSurfaceError(method, error);
    if (failure.kind === "uncertain") onLost();
    if (failure.kind === "rejected") return false;
    throw failure;
  }
}

/** What the stream needs to show that message, and how it is then; undefined where it cannot grow to it. */
function grow(stream: Stream, message: OutboundMessage): { chunks: Chunk[]; stream: Stream } | undefined {
  const { growing, calls } = message;
  if (!growing) return undefined;
  const text = settle(escapeMentions(growing.text));
  // A word that was held back may have become longer, but nothing that was sent may have changed.
  if (!text.startsWith(stream.text) && !stream.text.startsWith(text)) return undefined;
  const rest = text.slice(stream.text.length);
  const tasks = calls ? newTasks(stream, calls) : [];
  const title = calls?.items.length || stream.title !== "" ? growing.title : "";
  const chunks = toChunks(stream, { title, tasks, text: rest });
  const weight = stream.weight + weigh(chunks);
  const all = new Map([...stream.tasks, ...tasks.map((task) => [task.id, task] as const)]);
  if (weight > mostBytes || all.size > mostTasks) return undefined;
  return { chunks, stream: { ...stream, text: stream.text + rest, title, tasks: all, weight } };
}

/** The tasks that the stream does not show as they are. */
function newTasks({ tasks }: Stream, calls: NonNullable<OutboundMessage["calls"]>): types.TaskUpdateChunk[] {
  return toTasks(calls).filter((task) => {
    const shown = tasks.get(task.id);
    return shown?.status !== task.status || shown.title !== task.title;
  });
}

/** Of one kind in a stream: text and chunks may not be mixed in it. */
function toChunks(
  stream: Stream,
  { title, tasks, text }: { title: string; tasks: types.TaskUpdateChunk[]; text: string },
): Chunk[] {
  return [
    ...(title !== "" && title !== stream.title ? [{ type: "plan_update" as const, title }] : []),
    ...tasks,
    ...(text === "" ? [] : [{ type: "markdown_text" as const, text }]),
  ];
}

function weigh(chunks: readonly Chunk[]): number {
  return (
    Buffer.byteLength(JSON.stringify(chunks)) + chunks.reduce((sum, chunk) => sum + outputBytes(chunk), 0)
  );
}

function outputBytes(chunk: Chunk): number {
  return "output" in chunk && typeof chunk.output === "string" ? Buffer.byteLength(chunk.output) : 0;
}

/** What ends a word: a blank, or a sign of a script that has none, of which no secret is made. */
const wordEnd =
  /[\s\u3000-\u303F\uFF00-\uFF60\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;

/** Without the last word, which may become longer, and without a key that is not closed: it may yet have to be masked. */
function settle(text: string): string {
  const settled = cutOpenKey(text);
  let end = settled.length;
  while (end > 0 && !wordEnd.test(settled[end - 1] ?? "")) end -= 1;
  return settled.slice(0, end).trimEnd();
}
