import type { WebClient } from "@slack/web-api";
import { keepWholeAnswer } from "../../../chat/markdown.ts";
import type { MarkOptions, MessageMark } from "../../../chat/outbound.ts";
import { type ChatSurface, SurfaceError, wasAccepted } from "../../../chat/surface.ts";
import type { MessageRef, ThreadRef } from "../../../chat/threads.ts";
import { createWebClient, refusalCode, type SlackAccess } from "../connection/web.ts";
import { createPeople, type People } from "../inbound/people.ts";
import { earlierMessages } from "./earlier-messages.ts";
import { surfaceError } from "./errors.ts";
import { downloadFile, fileDetails } from "./files.ts";
import { findPosted, postOnce, shareFile, withFallbackLayout } from "./posting.ts";
import {
  type Layout,
  messageChars,
  mostChars,
  renderBeginning,
  type RenderedMessage,
  renderOne,
  renderParts,
} from "./render.ts";
import { createThreadStatus } from "./status.ts";

const reactionOf: Record<MessageMark, string> = {
  taken: "eyes",
  waiting: "hourglass",
  answered: "white_check_mark",
  stopped: "octagonal_sign",
  failed: "warning",
};

/** chat.update allows some 50 calls a minute. https://docs.slack.dev/apis/web-api/rate-limits */
const editIntervalMs = 1_200;

/** Slack limits how often it changes, and takes it away after two minutes. https://docs.slack.dev/ai/agent-sessions */
const statusPace = { changeMs: 3_000, fadesMs: 60_000 };

/**
 * "Generally one message a second in a channel, with short bursts". Reactions have a quota for the whole
 * workspace, which Slack states only roughly: there the pauses that it asks for are what counts. https://docs.slack.dev/apis/web-api/rate-limits
 */
const budget = {
  messages: { burst: 5, intervalMs: 1_000 },
  marks: { burst: 50, intervalMs: 100 },
};

/**
 * A way to write into Slack threads. It needs no socket, so it works in worker processes too. Nothing is
 * repeated or waited for inside. Every message carries its key, so that it can be found when the answer to its
 * post is lost with the connection or with the process.
 */
export function createSlackSurface(access: SlackAccess): ChatSurface {
  // Apart, so that slow edits or uploads never stand before an answer.
  const posts = createWebClient(access, { timeoutMs: 20_000 });
  const edits = createWebClient(access, { timeoutMs: 10_000 });
  const files = createWebClient(access, { timeoutMs: 300_000 });
  const status = createThreadStatus(edits, access.log);
  let hasCards = true;
  const noteRefused = (layout: Layout) => {
    if (layout.hasCards) hasCards = false;
  };
  const reactions = { ...reactionOf, ...access.marks };
  const marking = new Map<string, Promise<void>>();
  const readers = createWebClient(access, { timeoutMs: 10_000, retries: 1 });
  const peopleIn = new Map<string, People>();
  const peopleOf = ({ workspace }: ThreadRef): People => {
    const people = peopleIn.get(workspace) ?? createPeople(readers, workspace, access.log);
    peopleIn.set(workspace, people);
    return people;
  };

  return {
    platform: "slack",
    limits: { budget, editIntervalMs, places: numbers.length, status: statusPace, messageChars },
    idempotentMs: 0,

    async post(thread, message, key, posted = []) {
      const refs = [...posted];
      const postNext = async (part: RenderedMessage) => {
        const partKey = `${key}#${refs.length}`;
        const ts = await withFallbackLayout(
          part,
          (layout) => postOnce(posts, thread, layout, partKey),
          noteRefused,
        );
        refs.push(refOf(thread, ts));
      };
      try {
        const whole = keepWholeAnswer(message.markdown, mostChars);
        if (whole && refs.length === 0) await postNext(renderBeginning(message));
        const isShared =
          whole &&
          refs.length === 1 &&
          (await wasAccepted(call("files.uploadV2", () => shareFile(files, thread, whole))));
        if (!isShared) {
          const parts = message.calls ? [renderOne(message, hasCards)] : renderParts(message);
          for (const part of parts.slice(refs.length)) await postNext(part);
        }
      } catch (error) {
        const { kind, message: text, retryAfterMs, cause } = surfaceError("chat.postMessage", error);
        throw new SurfaceError(kind, text, { retryAfterMs, partly: refs.length > posted.length, cause });
      }
      void status.posted(thread);
      return refs;
    },

    async find(thread, key, since) {
      const found = await call("conversations.replies", () => findPosted(posts, thread, key, since));
      return (found ?? []).map((ts) => refOf(thread, ts));
    },

    async edit(ref, message) {
      const place = { channel: ref.channel, ts: ref.message };
      // Slack would look for names in an edit ("client"), which it does not in a new message.
      const change = ({ text, blocks }: Layout) =>
        edits.chat.update({ ...place, text, blocks, parse: "none" });
      await call("chat.update", () => withFallbackLayout(renderOne(message, hasCards), change, noteRefused));
    },

    async remove(ref) {
      await call("chat.delete", () => posts.chat.delete({ channel: ref.channel, ts: ref.message }), [
        "message_not_found",
      ]);
    },

    async threadOf(ref) {
      const { platform, workspace, channel, message: ts } = ref;
      const answer = await call(
        "conversations.replies",
        () => posts.conversations.replies({ channel, ts, limit: 1 }),
        ["thread_not_found", "message_not_found"],
      );
      const found = answer?.messages?.[0];
      return found && { platform, workspace, channel, thread: found.thread_ts ?? ts };
    },

    // One after the other for each message, so that a late earlier mark does not remove a newer one.
    async mark(ref, mark, options = {}) {
      const id = `${ref.channel}:${ref.message}`;
      const before = marking.get(id);
      const marked = (async () => {
        await before?.catch(() => undefined);
        await showMark(edits, reactions, ref, mark, options);
      })();
      marking.set(id, marked);
      try {
        await marked;
      } finally {
        if (marking.get(id) === marked) marking.delete(id);
      }
    },

    async status(thread, text, waits = false) {
      if (text === undefined) return status.session(thread, waits ? "suspended" : "active");
      await status.session(thread, "processing");
      await status.line(thread, text);
    },

    async upload(thread, file) {
      await call("files.uploadV2", () => shareFile(files, thread, file));
      return [];
    },

    details: (file) => fileDetails(readers, file),

    download: (file, signal) => downloadFile(access, file, signal),

    async earlier(thread, before, limit) {
      const room = await call("conversations.replies", () =>
        earlierMessages(readers, peopleOf(thread), thread, before, limit),
      );
      return room ?? [];
    },

    async channelName({ channel }) {
      const found = await call("conversations.info", () => readers.conversations.info({ channel }));
      return found?.channel?.is_im ? "direct messages" : found?.channel?.name;
    },

    async person(thread, id) {
      try {
        return await peopleOf(thread).author(id);
      } catch (error) {
        throw surfaceError("users.info", error);
      }
    },
  };
}

/** Calls Slack; a refusal with one of the `harmless` codes counts as done. */
async function call<T>(
  method: string,
  work: () => Promise<T>,
  harmless: string[] = [],
): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (harmless.includes(refusalCode(error) ?? "")) return undefined;
    throw surfaceError(method, error);
  }
}

/** The place of a message that waits; the last one stands for all that are later. */
const numbers = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "keycap_ten"];

/** Adds the reaction of the mark and takes away those of the others. */
async function showMark(
  client: WebClient,
  reactions: Record<MessageMark, string>,
  ref: MessageRef,
  mark: MessageMark,
  { place, isFirst = false }: MarkOptions,
): Promise<void> {
  const message = { channel: ref.channel, timestamp: ref.message };
  const wanted = [
    reactions[mark],
    place && reactions[mark] ? numbers[Math.min(place, numbers.length) - 1] : "",
  ];
  for (const name of wanted) {
    if (!name) continue;
    await call("reactions.add", () => client.reactions.add({ ...message, name }), ["already_reacted"]);
  }
  if (isFirst) return;
  const shown = await call("reactions.get", () => client.reactions.get(message), [
    "missing_scope",
    "unknown_method",
  ]);
  // Who may not look tries what most messages have had.
  const names = shown?.message?.reactions?.map(({ name }) => name) ?? [reactions.taken, reactions.waiting];
  for (const earlier of [...Object.values(reactions), ...numbers]) {
    if (wanted.includes(earlier) || !names.includes(earlier)) continue;
    // `no_reaction`: it is only other people's.
    await call("reactions.remove", () => client.reactions.remove({ ...message, name: earlier }), [
      "no_reaction",
    ]);
  }
}

function refOf(thread: ThreadRef, ts: string): MessageRef {
  return { platform: "slack", workspace: thread.workspace, channel: thread.channel, message: ts };
}
