import type { ConversationsHistoryResponse, ConversationsRepliesResponse, WebClient } from "@slack/web-api";
import type { BaseLogger } from "pino";
import type { Downtime } from "../../../chat/downtime.ts";
import type { InboundEvent } from "../../../chat/inbound.ts";
import { type ThreadId, threadId, type ThreadRef } from "../../../chat/threads.ts";
import { refusalCode } from "../connection/web.ts";
import type { EventReader } from "./events.ts";

/** A busy channel is not read back for ever. */
const mostPages = 10;
const pageSize = 200;

export interface CatchUpOptions {
  /** A client that sits out rate limits: nobody waits for it. */
  client: WebClient;
  downtime: Downtime;
  teamId: string;
  reader: EventReader;
  receive(event: InboundEvent): Promise<unknown>;
  signal: AbortSignal;
  log: BaseLogger;
}

/** As much of a message as is looked at here; the rest is for the reader of events. */
interface Found {
  ts: string;
  channel: string;
  user?: string;
  text?: string;
  subtype?: string;
  thread_ts?: string;
  edited?: { ts?: string };
  reactions?: { name?: string; users?: string[] }[];
}

/**
 * Finds what was done while no gateway listened, and hands it in as if Slack had told it: messages by their time, and
 * what became of those that are worked on or wait: edits, deletions, a 🛑. What is known is dropped by whoever receives
 * it. Read are the conversations that the bot is in, and the threads that it lately worked in; a mention in any other
 * old thread is not found.
 */
export async function readMissedEvents(options: CatchUpOptions): Promise<void> {
  const { downtime, teamId, reader, signal, log, client } = options;
  const since = await downtime.lastConnectedAt("slack", teamId);
  if (since === undefined) return;
  const start = (since / 1_000).toFixed(6);
  const latest = (ts: string) => (Number(ts) > Number(start) ? ts : start);
  const found = new Map<string, Found>();

  /** Whether all since then was read. */
  const read = async (
    channel: string,
    from: string,
    page: (cursor: object) => Promise<ConversationsHistoryResponse | ConversationsRepliesResponse>,
  ): Promise<boolean> => {
    const span = { oldest: from, inclusive: true, limit: pageSize };
    let cursor = {};
    for (let pages = 0; pages < mostPages && !signal.aborted; pages += 1) {
      const { messages = [], response_metadata: next } = await page({ ...cursor, ...span });
      for (const { ts, ...message } of messages) {
        // The first message of a thread always comes along.
        if (ts === undefined || Number(ts) < Number(from)) continue;
        found.set(`${channel}:${ts}`, { ...message, ts, channel });
      }
      if (!next?.next_cursor) return !signal.aborted;
      cursor = { cursor: next.next_cursor };
    }
    return false;
  };
  const tolerant = async <T>(what: string, work: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await work();
    } catch (error) {
      const code = refusalCode(error);
      // Slack was not reached: all of it is tried again later.
      if (code === undefined) throw error;
      log.warn(`${what} could not be read for messages that were missed (${code}).`);
      return undefined;
    }
  };
  const receive = async (event: InboundEvent | undefined) => {
    if (event && !signal.aborted) await options.receive(event);
  };

  const open = (await downtime.open("slack", [teamId])).filter(({ ref }) => Number(ref.message) > 0);
  const threads = new Map<ThreadId, ThreadRef>();
  for (const thread of await downtime.threads("slack", teamId)) threads.set(threadId(thread), thread);
  for (const { thread } of open) threads.set(threadId(thread), thread);
  const channels = new Set([...threads.values()].map(({ channel }) => channel));
  await tolerant("The list of conversations", async () => {
    for (const id of await conversations(client)) channels.add(id);
  });
  for (const channel of channels) {
    await tolerant(`Channel ${channel}`, () =>
      read(channel, start, (page) => client.conversations.history({ channel, ...page })),
    );
  }
  const wholeThreads = new Set<ThreadId>();
  for (const [id, { channel, thread }] of threads) {
    const times = open.filter((one) => threadId(one.thread) === id).map(({ ref }) => ref.message);
    const from = times.reduce((first, ts) => (Number(ts) < Number(first) ? ts : first), start);
    const isWhole = await tolerant(`Thread ${thread} of channel ${channel}`, () =>
      read(channel, from, (page) => client.conversations.replies({ channel, ts: thread, ...page })).catch(
        (error: unknown) => {
          // Its first message is deleted, and there was no other.
          if (refusalCode(error) === "thread_not_found") return true;
          throw error;
        },
      ),
    );
    if (isWhole) wholeThreads.add(id);
  }

  const inOrder = [...found.values()].toSorted((a, b) => Number(a.ts) - Number(b.ts));
  for (const { edited: _, ...message } of inOrder) {
    // Of older ones it is only looked at what became of them.
    if (Number(message.ts) >= Number(start))
      await receive(await reader.message({ ...message, type: "message" }));
  }
  for (const { thread, ref, written } of open) {
    const now = found.get(`${ref.channel}:${ref.message}`);
    if (!written) continue;
    const { channel, message: ts } = ref;
    const change = { type: "message", channel, previous_message: { user: written.author.id } };
    if (now ? now.subtype === "tombstone" : wholeThreads.has(threadId(thread))) {
      const previous_message = { user: written.author.id, thread_ts: thread.thread };
      const event_ts = latest(ts);
      const told = { ...change, subtype: "message_deleted", deleted_ts: ts, previous_message, event_ts };
      await receive(await reader.message(told));
    } else if (now?.edited?.ts !== undefined && now.user === written.author.id) {
      const told = { ...change, subtype: "message_changed", message: now, event_ts: now.edited.ts };
      const event = await reader.message(told);
      if (event?.kind === "edit" && event.text !== written.text) await receive(event);
    }
  }
  for (const { channel, ts, reactions = [] } of inOrder) {
    for (const { name: reaction, users = [] } of reactions) {
      for (const user of users) {
        // An earlier one was heard of, so it was put there since.
        const told = { user, reaction, item: { type: "message", channel, ts }, event_ts: latest(ts) };
        await receive(await reader.reaction(told));
      }
    }
  }
}

/** Ids of the conversations that the bot is in. */
async function conversations(client: WebClient): Promise<string[]> {
  const ids: string[] = [];
  let cursor = {};
  for (let pages = 0; pages < mostPages; pages += 1) {
    const answer = await client.users.conversations({
      ...cursor,
      types: "public_channel,private_channel,im,mpim",
      exclude_archived: true,
      limit: pageSize,
    });
    for (const { id } of answer.channels ?? []) if (id !== undefined) ids.push(id);
    const next = answer.response_metadata?.next_cursor;
    if (!next) break;
    cursor = { cursor: next };
  }
  return ids;
}
