import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Redis } from "ioredis";
import type { MessageMark } from "../../../chat/outbound.ts";
import { readThreadCommand } from "../../../chat/thread-command.ts";
import { makeTitle } from "../../../chat/title.ts";
import {
  type ConsoleChange,
  type ConsoleContent,
  type ConsoleMessage,
  parseMessage,
} from "./console-message.ts";
import { filesKey, forgetFiles, keptForMs, makeRoomForShared, prefixOf, run } from "./uploads.ts";

/**
 * The console's conversations. They are stored in Redis because the worker that writes an answer and the process that
 * serves the page need not be the same. Every change is announced with nothing but the id of what changed: viewers read
 * the state itself, so the last read is right in whatever order announcements arrive.
 *
 * A thread's keys share one slot: `heddle:{id}:local:messages` (hash: message id to JSON), `:thread` (hash:
 * title, activeAt, state, taken, places) and those of its files (uploads.ts). `heddle:local:threads` is the index (sorted set by
 * last activity), `heddle:local:changes` the channel.
 */

/** A line of the list of threads. `state` is `taken` while a message is worked on, else the newest mark of any. */
export interface ThreadSummary {
  id: string;
  title: string;
  /** Milliseconds since the epoch. */
  activeAt: number;
  /** Put away until something happens there. */
  archived?: true;
  state?: MessageMark;
  /** The work waits for people. */
  paused?: true;
}

export const changesChannel = "heddle:local:changes";

const index = "heddle:local:threads";

/** A thread keeps its newest messages. The oldest go some at a time, as all must be read to know which they are. */
const mostMessages = 2_000;
const trimmedAtOnce = 200;

const titleChars = 80;

/** So many threads, the newest. */
const mostListed = 200;

const marks: readonly MessageMark[] = ["taken", "waiting", "answered", "stopped", "failed"];

const readScript = (name: string) => readFileSync(new URL(`scripts/${name}`, import.meta.url), "utf8");
const replaceMessage = readScript("replace-message.lua");
const setState = readScript("set-state.lua");

/** Told of a place whose value cannot be read, and why. */
export type OnUnreadable = (place: string, why: string) => void;

export class Conversations {
  readonly #redis: Redis;
  readonly #now: () => number;
  readonly #onUnreadable: OnUnreadable;

  /** `onUnreadable` is told of what is stored and cannot be read: it stays, and no page shows it. */
  constructor(redis: Redis, now: () => number, onUnreadable: OnUnreadable = () => {}) {
    this.#redis = redis;
    this.#now = now;
    this.#onUnreadable = onUnreadable;
  }

  /** Adds a message, once for every `key`; returns its id. `data` are the bytes of a file message. */
  async add(thread: string, key: string, content: ConsoleContent, data?: Uint8Array): Promise<string> {
    const keys = toKeys(thread);
    const id = toMessageId(key);
    const at = this.#now();
    const place = await this.#takePlace(keys.thread);
    const message: ConsoleMessage = { id, place, at, ...content };

    const title = makeTitle(toText(content), titleChars);
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
    if (data) await makeRoomForShared(this.#redis, { thread, message: id, bytes: data.byteLength, at });
    await this.#forgetOldest(thread);

    await this.#redis.zadd(index, at, thread);
    await this.#redis.zremrangebyscore(index, 0, at - keptForMs);
    await this.#announce({ thread, message: id });
    await this.#announce({ thread });
    return id;
  }

  /** Whether a message with that key was added, and is still there. */
  async has(thread: string, key: string): Promise<boolean> {
    return (await this.#redis.hexists(toKeys(thread).messages, toMessageId(key))) === 1;
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
    const { messages } = toKeys(thread);
    for (;;) {
      const before = await this.#redis.hget(messages, id);
      if (before === null) return false;
      const message = this.#parse(thread, id, before);
      if (!message) return false;
      const { place, at } = message;
      const after = JSON.stringify({ id, place, at, ...change(message) });
      if (after === before) return true;
      const announcement: ConsoleChange = { thread, message: id };
      const args = [id, before, after, changesChannel, JSON.stringify(announcement)];
      if ((await this.#redis.eval(replaceMessage, 1, messages, ...args)) === 1) return true;
    }
  }

  /** Notes the mark that a message was given, in which it is stored already, for the list of threads. */
  async setState(thread: string, message: string, state: MessageMark, paused = false): Promise<void> {
    const keys = toKeys(thread);
    await this.#redis.eval(setState, 2, keys.thread, keys.messages, message, state, paused ? state : "");
    await this.#announce({ thread });
  }

  /** Keeps the list in step with what was done with the whole thread. An empty title leaves it its own. */
  async describe(
    thread: string,
    { title, archivedAt }: { title?: string; archivedAt?: number | null },
  ): Promise<void> {
    const { thread: key } = toKeys(thread);
    if (!(await this.#redis.exists(key))) return;
    if (title) await this.#redis.hset(key, "title", title);
    if (archivedAt === null) await this.#redis.hdel(key, "archivedAt");
    else if (archivedAt !== undefined) await this.#redis.hset(key, "archivedAt", archivedAt);
    await this.#announce({ thread });
  }

  /** Takes a thread whose keys were deleted off the lists. */
  async forget(thread: string): Promise<void> {
    await this.#redis.zrem(index, thread);
    await forgetFiles(this.#redis, thread);
    await this.#announce({ thread });
  }

  async remove(thread: string, id: string): Promise<void> {
    const keys = toKeys(thread);
    await run(this.#redis.multi().hdel(keys.messages, id).hdel(keys.files, id));
    await this.#announce({ thread, message: id });
  }

  /** The thread's messages in order. */
  async messages(thread: string): Promise<ConsoleMessage[]> {
    const stored = Object.entries(await this.#redis.hgetall(toKeys(thread).messages));
    return stored
      .flatMap(([id, json]) => this.#parse(thread, id, json) ?? [])
      .toSorted((a, b) => a.place - b.place);
  }

  /** The messages with these ids; null for those that are gone. */
  async find(thread: string, ids: readonly string[]): Promise<(ConsoleMessage | null)[]> {
    const stored = await this.#redis.hmget(toKeys(thread).messages, ...ids);
    return stored.map((json, position) =>
      json === null ? null : (this.#parse(thread, ids[position] ?? "", json) ?? null),
    );
  }

  /** The bytes of a file message. */
  async file(thread: string, id: string): Promise<Buffer | null> {
    return await this.#redis.hgetBuffer(toKeys(thread).files, id);
  }

  async thread(id: string): Promise<ThreadSummary | null> {
    const fields = await this.#redis.hgetall(toKeys(id).thread);
    if (!fields.activeAt) return null;
    const isArchived = Number(fields.archivedAt ?? 0) >= Number(fields.activeAt);
    const summary = {
      ...{ id, title: fields.title ?? "Untitled", activeAt: Number(fields.activeAt) },
      ...(isArchived && { archived: true as const }),
    };
    const state = marks.find((mark) => mark === fields.state);
    if (!state) return summary;
    return { ...summary, state, ...(fields.paused === state && { paused: true as const }) };
  }

  /** The threads with the latest activity that are not put away, newest first, at most 200. */
  async threads(): Promise<ThreadSummary[]> {
    const shown: ThreadSummary[] = [];
    // Behind those that were put away there may be others.
    for (let from = 0; shown.length < mostListed; from += mostListed) {
      const ids = await this.#redis.zrevrange(index, from, from + mostListed - 1);
      const summaries = await Promise.all(ids.map((id) => this.thread(id)));
      shown.push(...summaries.flatMap((summary) => (summary && !summary.archived ? [summary] : [])));
      if (ids.length < mostListed) break;
    }
    return shown.slice(0, mostListed);
  }

  async #takePlace(thread: string): Promise<number> {
    // Together: whoever dies behind it leaves nothing that stays for ever.
    const counted = await this.#redis.multi().hincrby(thread, "places", 1).pexpire(thread, keptForMs).exec();
    const [[error, place] = []] = counted ?? [];
    if (error) throw error;
    return Number(place);
  }

  async #forgetOldest(thread: string): Promise<void> {
    const keys = toKeys(thread);
    if ((await this.#redis.hlen(keys.messages)) < mostMessages + trimmedAtOnce) return;
    const oldest = (await this.messages(thread)).slice(0, -mostMessages).map(({ id }) => id);
    if (oldest.length === 0) return;
    await run(
      this.#redis
        .multi()
        .hdel(keys.messages, ...oldest)
        .hdel(keys.files, ...oldest),
    );
  }

  #parse(thread: string, id: string, json: string): ConsoleMessage | undefined {
    const parsed = parseMessage(json);
    if (parsed.ok) return parsed.value;
    this.#onUnreadable(`Message ${id} of the console's thread ${thread}`, parsed.why);
    return undefined;
  }

  async #announce(change: ConsoleChange): Promise<void> {
    await this.#redis.publish(changesChannel, JSON.stringify(change));
  }
}

function toMessageId(key: string): string {
  return createHash("sha256").update(key).digest("hex").slice(0, 20);
}

function toKeys(thread: string): { messages: string; thread: string; files: string } {
  const prefix = prefixOf(thread);
  return { messages: `${prefix}messages`, thread: `${prefix}thread`, files: filesKey(thread) };
}

function toText(content: ConsoleContent): string {
  switch (content.kind) {
    case "person":
      return content.text.trim() || (content.files ?? []).join(", ");
    case "file":
      return content.name;
    default:
      return content.markdown;
  }
}
