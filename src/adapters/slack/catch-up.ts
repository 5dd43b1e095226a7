import type { ConversationsHistoryResponse, ConversationsRepliesResponse, WebClient } from "@slack/web-api";
import type { BaseLogger } from "pino";
import type { Attendance } from "../adapter.ts";
import { refusalCode } from "./web.ts";

/** A busy channel is not read back for ever. */
const mostPages = 10;
const pageSize = 200;

export interface CatchUpOptions {
  /** A client that sits out rate limits: nobody waits for it. */
  client: WebClient;
  attendance: Attendance;
  teamId: string;
  /** Takes a message in the shape of an event. */
  receive(message: Record<string, unknown>): Promise<void>;
  signal: AbortSignal;
  log: BaseLogger;
}

/**
 * Finds the messages that were sent while no gateway listened, and hands them in by their time. Those that are
 * known are dropped by whoever receives them. Read are the conversations that the bot is in, and the threads
 * that it lately worked in; a mention in any other old thread is not found.
 */
export async function catchUp(options: CatchUpOptions): Promise<void> {
  const { attendance, teamId, receive, signal, log } = options;
  const since = await attendance.missedSince("slack", teamId);
  if (since === undefined) return;
  const oldest = (since / 1_000).toFixed(6);
  const { client } = options;
  const missed = new Map<string, Record<string, unknown> & { ts: string }>();

  const read = async (
    channel: string,
    page: (cursor: object) => Promise<ConversationsHistoryResponse | ConversationsRepliesResponse>,
  ) => {
    let cursor = {};
    for (let pages = 0; pages < mostPages && !signal.aborted; pages += 1) {
      const { messages = [], response_metadata: next } = await page({ ...cursor, oldest, limit: pageSize });
      for (const { ts, edited: _, ...message } of messages) {
        // The first message of a thread always comes along.
        if (ts !== undefined && Number(ts) >= Number(oldest))
          missed.set(`${channel}:${ts}`, { ...message, ts, channel });
      }
      if (!next?.next_cursor) return;
      cursor = { cursor: next.next_cursor };
    }
  };
  const tolerant = async (what: string, work: () => Promise<void>) => {
    try {
      await work();
    } catch (error) {
      const code = refusalCode(error);
      // Slack was not reached: all of it is tried again later.
      if (code === undefined) throw error;
      log.warn(`${what} could not be read for messages that were missed (${code}).`);
    }
  };

  const threads = await attendance.threads("slack", teamId);
  const channels = new Set(threads.map(({ channel }) => channel));
  await tolerant("The list of conversations", async () => {
    for (const id of await conversations(client)) channels.add(id);
  });
  for (const channel of channels) {
    await tolerant(`Channel ${channel}`, () =>
      read(channel, (page) => client.conversations.history({ channel, ...page })),
    );
  }
  for (const { channel, thread } of threads) {
    await tolerant(`Thread ${thread} of channel ${channel}`, () =>
      read(channel, (page) => client.conversations.replies({ channel, ts: thread, ...page })),
    );
  }
  const inOrder = [...missed.values()].toSorted((a, b) => Number(a.ts) - Number(b.ts));
  for (const message of inOrder) if (!signal.aborted) await receive(message);
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
