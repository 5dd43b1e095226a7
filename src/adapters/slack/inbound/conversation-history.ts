import type { ConversationsHistoryResponse, ConversationsRepliesResponse, WebClient } from "@slack/web-api";
import type { BaseLogger } from "pino";
import { refusalCode } from "../connection/web.ts";

/** Bounds what is read of a busy channel. */
const maxPages = 10;
const pageSize = 200;

/** The fields of a message that catching up looks at; the rest is for the event reader. */
export interface HistoryMessage {
  ts: string;
  channel: string;
  user?: string;
  text?: string;
  subtype?: string;
  thread_ts?: string;
  edited?: { ts?: string };
  reactions?: { name?: string; users?: string[] }[];
}

interface HistoryOptions {
  /** A client that waits for rate limits: nobody waits for it. */
  client: WebClient;
  teamId: string;
  signal: AbortSignal;
  log: BaseLogger;
}

type Page = ConversationsHistoryResponse | ConversationsRepliesResponse;

/**
 * Reads channels and threads back and collects their messages. What Slack refuses is logged and left out; the methods
 * reject when Slack cannot be reached.
 */
export class ConversationHistory {
  readonly #options: HistoryOptions;
  readonly #messages = new Map<string, HistoryMessage>();

  constructor(options: HistoryOptions) {
    this.#options = options;
  }

  /** Ids of the conversations that the bot is in. */
  async listConversations(): Promise<string[]> {
    const list = await this.#unlessRefused("The list of conversations", async () => {
      const ids: string[] = [];
      let cursor = {};
      for (let pages = 0; pages < maxPages; pages += 1) {
        const answer = await this.#options.client.users.conversations({
          ...cursor,
          // Other workspaces of its organisation are not its own; required with the token of an organisation, else ignored.
          // https://docs.slack.dev/reference/methods/users.conversations
          team_id: this.#options.teamId,
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
    });
    return list ?? [];
  }

  /** @param from `ts` of the earliest message to read */
  async readChannel(channel: string, from: string): Promise<void> {
    const { client } = this.#options;
    await this.#unlessRefused(`Channel ${channel}`, () =>
      this.#readPages(channel, from, (page) => client.conversations.history({ channel, ...page })),
    );
  }

  /** Whether all messages of the thread since `from` were read, so that one that is missing was deleted. */
  async readThread(channel: string, thread: string, from: string): Promise<boolean> {
    const { client } = this.#options;
    const isComplete = await this.#unlessRefused(`Thread ${thread} of channel ${channel}`, () =>
      this.#readPages(channel, from, (page) =>
        client.conversations.replies({ channel, ts: thread, ...page }),
      ).catch((error: unknown) => {
        // Its first message was deleted, and there was no other.
        if (refusalCode(error) === "thread_not_found") return true;
        throw error;
      }),
    );
    return isComplete ?? false;
  }

  find(channel: string, ts: string): HistoryMessage | undefined {
    return this.#messages.get(`${channel}:${ts}`);
  }

  /** All messages that were read, in the order of their time. */
  inOrder(): HistoryMessage[] {
    return [...this.#messages.values()].toSorted((a, b) => Number(a.ts) - Number(b.ts));
  }

  async #readPages(channel: string, from: string, fetch: (page: object) => Promise<Page>): Promise<boolean> {
    const { signal } = this.#options;
    const span = { oldest: from, inclusive: true, limit: pageSize };
    let cursor = {};
    for (let pages = 0; pages < maxPages && !signal.aborted; pages += 1) {
      const { messages = [], response_metadata: next } = await fetch({ ...cursor, ...span });
      for (const { ts, ...message } of messages) {
        // Slack always includes the first message of a thread.
        if (ts === undefined || Number(ts) < Number(from)) continue;
        this.#messages.set(`${channel}:${ts}`, { ...message, ts, channel });
      }
      if (!next?.next_cursor) return !signal.aborted;
      cursor = { cursor: next.next_cursor };
    }
    return false;
  }

  /** Undefined where Slack refuses. Rejects when Slack was not reached: then all of it is retried later. */
  async #unlessRefused<T>(what: string, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      const code = refusalCode(error);
      if (code === undefined) throw error;
      this.#options.log.warn(`${what} could not be read for missed messages (${code}).`);
      return undefined;
    }
  }
}
