import { createHash, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import type { ChainableCommander, Redis } from "ioredis";
import type { AttachmentHandle } from "../../agent/messages.ts";
import type { MessageMark, OutboundMessage } from "../../chat/outbound.ts";
import { readThreadCommand } from "../../chat/thread-command.ts";
import { type MessageRef, threadId, type ThreadRef } from "../../chat/threads.ts";
import { makeTitle } from "../../chat/title.ts";

/**
 * The console's conversations. They are stored in Redis because the worker that writes an answer and the process that
 * serves the page need not be the same. Every change is announced with nothing but the id of what changed: viewers read
 * the state itself, so the last read is right in whatever order announcements arrive.
 *
 * A thread's keys share one slot: `heddle:{id}:local:messages` (hash: message id to JSON), `:thread` (hash:
 * title, activeAt, state, places), `:files` (hash: message id to bytes) and `:incoming` (hash: files that people
 * send along). `heddle:local:threads` is the index
 * (sorted set by last activity), `heddle:local:changes` the channel.
 */

export type ConsoleContent =
  /** `files`: names of those that came with it. */
  | ({ kind: "person"; name: string; text: string; files?: string[] } & Marked)
  | (OutboundMessage & Marked)
  | ({ kind: "file"; name: string; bytes: number } & Marked);

interface Marked {
  mark?: MessageMark;
  /** For a message that waits: how many are ahead of it. */
  ahead?: number | undefined;
}

/** A message as the page gets it. `place` orders the messages of a thread; there are gaps. */
export type ConsoleMessage = { id: string; place: number; at: number } & ConsoleContent;

interface KeptFile {
  name: string;
  mediaType: string;
  data: Buffer;
}

/** A line of the list of threads. `state` is the newest mark that a message of the thread was given. */
export interface ThreadSummary {
  id: string;
  title: string;
  /** Milliseconds since the epoch. */
  activeAt: number;
  state?: MessageMark;
}

/** What changed: a message, or the thread's summary where there is no `message`. */
export interface ConsoleChange {
  thread: string;
  message?: string;
}

export const changesChannel = "heddle:local:changes";

const index = "heddle:local:threads";

/** A thread is forgotten after this long without activity, in milliseconds. */
const keptForMs = 30 * 24 * 60 * 60 * 1000;

/** The largest file that the console stores, in bytes. It is held in Redis, thus in memory. */
export const maxUploadBytes = 16 * 1024 * 1024;

const titleChars = 80;

const marks: readonly MessageMark[] = ["taken", "waiting", "answered", "stopped", "failed"];

const replaceMessage = readFileSync(new URL("replace-message.lua", import.meta.url), "utf8");

/** The whole address of a console thread: `id` is the only part that differs. */
export function consoleThread(id: string): ThreadRef {
  return { platform: "local", workspace: "console", channel: "main", thread: id };
}

/** A console message's ref carries its thread, so that it can be found again by the ref alone. */
export function consoleMessageRef(thread: string, message: string): MessageRef {
  return { platform: "local", workspace: "console", channel: "main", message: `${thread}.${message}` };
}

export function parseMessageRef(ref: MessageRef): { thread: string; message: string } {
  const [thread = "", message = ""] = ref.message.split(".");
  return { thread, message };
}

/** Whether `id` may name a thread: it becomes a part of Redis keys and of the page's addresses. */
export function isThreadId(id: string): boolean {
  return /^[a-z0-9]{8,32}$/.test(id);
}

export class Conversations {
  readonly #redis: Redis;
  readonly #now: () => number;

  constructor(redis: Redis, now: () => number) {
    this.#redis = redis;
    this.#now = now;
  }

  /** Adds a message, once for every `key`; returns its id. `data` are the bytes of a file message. */
  async add(thread: string, key: string, content: ConsoleContent, data?: Uint8Array): Promise<string> {
    const keys = keysOf(thread);
    const id = createHash("sha256").update(key).digest("hex").slice(0, 20);
    const at = this.#now();
    const place = await this.#redis.hincrby(keys.thread, "places", 1);
    const message: ConsoleMessage = { id, place, at, ...content };

    const title = makeTitle(textOf(content), titleChars);
    const commit = this.#redis
      .multi()
      .hsetnx(keys.messages, id, JSON.stringify(message))
      .hset(keys.thread, "activeAt", at);
    // A text command such as /full says nothing about what the thread is for, nor does the notice that answers it.
    if (title && content.kind !== "notice" && !readThreadCommand(title))
      commit.hsetnx(keys.thread, "title", title);
    if (data) commit.hsetnx(keys.files, id, Buffer.from(data.buffer, data.byteOffset, data.byteLength));
    for (const name of Object.values(keys)) commit.pexpire(name, keptForMs);
    await run(commit);

    await this.#redis.zadd(index, at, thread);
    await this.#redis.zremrangebyscore(index, 0, at - keptForMs);
    await this.#announce({ thread, message: id });
    await this.#announce({ thread });
    return id;
  }

  /**
   * Replaces the content of a message by the result of `change`, optimistically: a change by another process in the
   * meantime is never lost. False when the message does not exist.
   */
  async change(
    thread: string,
    id: string,
    change: (content: ConsoleContent) => ConsoleContent,
  ): Promise<boolean> {
    const { messages } = keysOf(thread);
    for (;;) {
      const before = await this.#redis.hget(messages, id);
      if (before === null) return false;
      const message = parseMessage(before);
      const { place, at } = message;
      const after = JSON.stringify({ id, place, at, ...change(message) });
      if (after === before) return true;
      const announcement: ConsoleChange = { thread, message: id };
      const args = [id, before, after, changesChannel, JSON.stringify(announcement)];
      if ((await this.#redis.eval(replaceMessage, 1, messages, ...args)) === 1) return true;
    }
  }

  async setState(thread: string, state: MessageMark): Promise<void> {
    await this.#redis.hset(keysOf(thread).thread, "state", state);
    await this.#announce({ thread });
  }

  async remove(thread: string, id: string): Promise<void> {
    const keys = keysOf(thread);
    await run(this.#redis.multi().hdel(keys.messages, id).hdel(keys.files, id));
    await this.#announce({ thread, message: id });
  }

  /** The thread's messages in order. */
  async messages(thread: string): Promise<ConsoleMessage[]> {
    const stored = await this.#redis.hvals(keysOf(thread).messages);
    return stored.map(parseMessage).toSorted((a, b) => a.place - b.place);
  }

  /** The messages with these ids; null for those that are gone. */
  async find(thread: string, ids: readonly string[]): Promise<(ConsoleMessage | null)[]> {
    const stored = await this.#redis.hmget(keysOf(thread).messages, ...ids);
    return stored.map((json) => (json === null ? null : parseMessage(json)));
  }

  /** Stores a file that a later message of the thread will name; returns its id. */
  async keep(thread: string, { name, mediaType, data }: KeptFile): Promise<string> {
    const { incoming } = keysOf(thread);
    const id = randomBytes(10).toString("hex");
    const about = JSON.stringify({ name, mediaType, bytes: data.length });
    await run(
      this.#redis
        .multi()
        .hset(incoming, `${id} about`, about, `${id} data`, data)
        .pexpire(incoming, keptForMs),
    );
    return id;
  }

  /** The handle of a file that was stored with `keep`; null when there is none. */
  async kept(thread: string, id: string): Promise<AttachmentHandle | null> {
    const about = await this.#redis.hget(keysOf(thread).incoming, `${id} about`);
    // Only `keep` writes these values.
    return about === null ? null : { ...JSON.parse(about), handle: `${thread}.${id}` };
  }

  /** The bytes of a file that was stored with `keep`, by its handle. */
  async keptData(handle: string): Promise<Buffer | null> {
    const [thread = "", id = ""] = handle.split(".");
    return await this.#redis.hgetBuffer(keysOf(thread).incoming, `${id} data`);
  }

  /** The bytes of a file message. */
  async file(thread: string, id: string): Promise<Buffer | null> {
    return await this.#redis.hgetBuffer(keysOf(thread).files, id);
  }

  async thread(id: string): Promise<ThreadSummary | null> {
    const fields = await this.#redis.hgetall(keysOf(id).thread);
    if (!fields.activeAt) return null;
    const summary = { id, title: fields.title ?? "Untitled", activeAt: Number(fields.activeAt) };
    const state = marks.find((mark) => mark === fields.state);
    return state ? { ...summary, state } : summary;
  }

  /** The threads with the latest activity, newest first, at most 200. */
  async threads(): Promise<ThreadSummary[]> {
    const ids = await this.#redis.zrevrange(index, 0, 199);
    const summaries = await Promise.all(ids.map((id) => this.thread(id)));
    return summaries.filter((summary) => summary !== null);
  }

  async #announce(change: ConsoleChange): Promise<void> {
    await this.#redis.publish(changesChannel, JSON.stringify(change));
  }
}

function keysOf(thread: string): { messages: string; thread: string; files: string; incoming: string } {
  const prefix = `heddle:{${threadId(consoleThread(thread))}}:local:`;
  return {
    messages: `${prefix}messages`,
    thread: `${prefix}thread`,
    files: `${prefix}files`,
    incoming: `${prefix}incoming`,
  };
}

/** Only this file writes these values. */
function parseMessage(json: string): ConsoleMessage {
  return JSON.parse(json);
}

function textOf(content: ConsoleContent): string {
  switch (content.kind) {
    case "person":
      return content.text.trim() || (content.files ?? []).join(", ");
    case "file":
      return content.name;
    default:
      return content.markdown;
  }
}

/** A transaction reports the failure of a single command inside its result. */
async function run(transaction: ChainableCommander): Promise<void> {
  for (const [error] of (await transaction.exec()) ?? []) {
    if (error) throw error;
  }
}
