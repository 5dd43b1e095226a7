import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import type { ChainableCommander, Redis } from "ioredis";
import type { AttachmentHandle } from "../../../agent/messages.ts";
import { untilAborted } from "../../../agent/until-aborted.ts";
import { threadId } from "../../../chat/threads.ts";
import { parseKeptFile } from "./console-message.ts";
import { consoleThread } from "./refs.ts";

/**
 * Bytes that the console holds in Redis: files on their way from a person to a worker, and files that the agent shared.
 * Redis is the only place that gateways and workers on several machines reach alike, and it is memory; so both kinds
 * are bounded in each thread and in all. `heddle:{id}:local:incoming` and `:files` are hashes with the bytes;
 * `heddle:local:uploads` and `heddle:local:shared` are sorted sets that say how many bytes there are.
 */

/** The largest file that the console stores, in bytes. */
export const maxUploadBytes = 16 * 1024 * 1024;

export const maxThumbnailBytes = 256 * 1024;

export interface FileQuota {
  /** Bytes of one thread's files, and of those of all threads. */
  threadBytes: number;
  allBytes: number;
}

const mebibyte = 1024 * 1024;

/** Each for the files that people send, and for those that the agent shares. */
const fileQuota: FileQuota = { threadBytes: 150 * mebibyte, allBytes: 512 * mebibyte };

/** Bytes of files that one gateway receives at a time: until they are whole they lie in its memory. */
const receivedAtOnce = 64 * mebibyte;

/** Whoever takes longer than this gives way to somebody for whom there is no room, ms. */
const undisturbedMs = 30_000;

/** A small file counts as so many bytes, so that the number of files is bounded too. */
const leastCharge = 64 * 1024;

/** For how long a file waits for the message that names it, in milliseconds. */
const unclaimedMs = 60 * 60 * 1000;

/** A thread, and with it its files, is forgotten after this long without activity, in milliseconds. */
export const keptForMs = 30 * 24 * 60 * 60 * 1000;

/** Files that are deleted at a time. */
const sweptAtOnce = 100;

const uploadsKey = "heddle:local:uploads";
const sharedKey = "heddle:local:shared";

const readScript = (name: string) => readFileSync(new URL(`scripts/${name}`, import.meta.url), "utf8");
const reserve = readScript("reserve-upload.lua");
const store = readScript("store-upload.lua");
const takeExpired = readScript("take-expired.lua");
const admitShared = readScript("admit-shared-file.lua");

interface UploadedFile {
  name: string;
  mediaType: string;
  data: Buffer;
}

/** `why` is a sentence for the person. */
export type UploadResult = { ok: true; id: string } | { ok: false; why: string };

/** Files that people send to console threads, until a worker has read them. */
export class Uploads {
  readonly #redis: Redis;
  readonly #now: () => number;
  readonly #quota: FileQuota;
  /** What is being received, the oldest first. */
  readonly #receiving = new Set<{ bytes: number; since: number; givesWay: AbortController }>();

  constructor(redis: Redis, now: () => number, quota: FileQuota = fileQuota) {
    this.#redis = redis;
    this.#now = now;
    this.#quota = quota;
  }

  /**
   * Calls `read`, which receives so many bytes, unless what others are sending at the moment leaves no room for them in
   * this process; then undefined. So it is where this one is slow and others need its room, which the signal says.
   */
  async receive<T>(bytes: number, read: (givenUp: AbortSignal) => Promise<T>): Promise<T | undefined> {
    if (!this.#makeRoom(bytes)) return undefined;
    const own = { bytes, since: this.#now(), givesWay: new AbortController() };
    const { signal } = own.givesWay;
    this.#receiving.add(own);
    try {
      return await untilAborted(read(signal), signal);
    } catch (error) {
      if (signal.aborted) return undefined;
      throw error;
    } finally {
      this.#receiving.delete(own);
    }
  }

  /** Nobody is given up in vain. */
  #makeRoom(bytes: number): boolean {
    const all = [...this.#receiving];
    let excess = all.reduce((sum, each) => sum + each.bytes, bytes) - receivedAtOnce;
    const slow = all.filter(({ since }) => this.#now() - since >= undisturbedMs);
    if (excess > slow.reduce((sum, each) => sum + each.bytes, 0)) return false;
    for (const each of slow) {
      if (excess <= 0) break;
      excess -= each.bytes;
      this.#receiving.delete(each);
      each.givesWay.abort();
    }
    return true;
  }

  /** Stores a file that a message of the thread has an hour to name. */
  async keep(thread: string, { name, mediaType, data }: UploadedFile): Promise<UploadResult> {
    await this.sweep();
    const id = randomBytes(10).toString("hex");
    const now = this.#now();
    const { threadBytes } = this.#quota;
    const allBytes = await this.#bytesForAll();
    // The room is taken first: whoever dies in between leaves a reservation, which ends within the hour.
    const file = [now, thread, id, chargeFor(data.length), now + unclaimedMs];
    const room = await this.#redis.eval(reserve, 1, uploadsKey, ...file, threadBytes, allBytes, keptForMs);
    if (room === "thread") return { ok: false, why: refusal("this thread holds", threadBytes) };
    if (room === "all") return { ok: false, why: refusal("all threads together hold", allBytes) };
    const about = JSON.stringify({ name, mediaType, bytes: data.length });
    await this.#redis.eval(store, 1, incomingKey(thread), id, about, data, unclaimedMs);
    return { ok: true, id };
  }

  /**
   * Keeps a small picture of a file that no message has named yet, among the files that are shared: it outlives the file
   * here, which goes when a worker has read it. False where there is no such file.
   */
  async keepThumbnail(thread: string, id: string, data: Buffer): Promise<boolean> {
    if ((await this.#redis.hexists(incomingKey(thread), `${id} about`)) === 0) return false;
    const key = filesKey(thread);
    await run(this.#redis.multi().hset(key, thumbnailField(id), data).pexpire(key, keptForMs));
    const file = { thread, message: thumbnailField(id), bytes: data.length, at: this.#now() };
    await makeRoomForShared(this.#redis, file, this.#quota);
    return true;
  }

  /** For each file that a message brings its id, where it has a thumbnail. */
  async listThumbnails(thread: string, files: readonly AttachmentHandle[]): Promise<(string | null)[]> {
    const ids = files.map(({ handle }) => parseHandle(handle).id);
    const found = await Promise.all(
      ids.map((id) => this.#redis.hexists(filesKey(thread), thumbnailField(id))),
    );
    return ids.map((id, index) => (found[index] === 1 ? id : null));
  }

  async readThumbnail(thread: string, id: string): Promise<Buffer | null> {
    return await this.#redis.hgetBuffer(filesKey(thread), thumbnailField(id));
  }

  /** The handle of a file that a message names, which is then kept until a worker has read it; null when it is gone. */
  async claim(thread: string, id: string): Promise<AttachmentHandle | null> {
    const key = incomingKey(thread);
    const about = await this.#redis.hget(key, `${id} about`);
    const parsed = about === null ? undefined : parseKeptFile(about);
    if (!parsed?.ok) return null;
    const member = `${thread}.${id}.${chargeFor(parsed.value.bytes)}`;
    await this.#redis.zadd(uploadsKey, this.#now() + keptForMs, member);
    await this.#redis.pexpire(key, keptForMs);
    // It may have been deleted in between, as nothing had named it for an hour.
    if ((await this.#redis.hexists(key, `${id} data`)) === 1)
      return { ...parsed.value, handle: `${thread}.${id}` };
    await this.#redis.zrem(uploadsKey, member);
    return null;
  }

  /** The bytes of a file, by its handle. */
  async read(handle: string): Promise<Buffer | null> {
    const { thread, id } = parseHandle(handle);
    return await this.#redis.hgetBuffer(incomingKey(thread), `${id} data`);
  }

  /** Deletes a file that nobody will read again. */
  async release({ handle, bytes }: AttachmentHandle): Promise<void> {
    const { thread, id } = parseHandle(handle);
    await this.#redis.hdel(incomingKey(thread), `${id} about`, `${id} data`);
    await this.#redis.zrem(uploadsKey, `${thread}.${id}.${chargeFor(bytes)}`);
  }

  /** Deletes the files that no message has named within the hour. */
  async sweep(): Promise<void> {
    const expired = await this.#redis.eval(takeExpired, 1, uploadsKey, this.#now(), sweptAtOnce);
    for (const { thread, id } of parseMembers(expired)) {
      await this.#redis.hdel(incomingKey(thread), `${id} about`, `${id} data`);
    }
  }

  /** A quarter of a Redis whose memory is limited: what fills it up stops everybody's messages. */
  async #bytesForAll(): Promise<number> {
    const info = await this.#redis.info("memory").catch(() => "");
    const limit = Number(/^maxmemory:(\d+)/m.exec(info)?.[1] ?? 0);
    return limit > 0 ? Math.min(this.#quota.allBytes, limit / 4) : this.#quota.allBytes;
  }
}

/** Counts a file that the agent shares, and deletes the oldest ones that exceed the quota. Their messages stay. */
export async function makeRoomForShared(
  redis: Redis,
  file: { thread: string; message: string; bytes: number; at: number },
  quota: FileQuota = fileQuota,
): Promise<void> {
  const { thread, message, bytes, at } = file;
  const added = [at, thread, message, chargeFor(bytes)];
  const limits = [quota.threadBytes, quota.allBytes, keptForMs];
  const inTheWay = await redis.eval(admitShared, 1, sharedKey, ...added, ...limits);
  for (const old of parseMembers(inTheWay)) await redis.hdel(filesKey(old.thread), old.id);
}

/** Hash: message id to the bytes of a file that the agent shared. */
export function filesKey(thread: string): string {
  return `${prefixOf(thread)}files`;
}

/** Takes the files of a deleted thread out of what is counted. */
export async function forgetFiles(redis: Redis, thread: string): Promise<void> {
  for (const key of [uploadsKey, sharedKey]) {
    const members = await redis.zrange(key, "0", "-1");
    const own = members.filter((member) => parseMembers([member]).some((one) => one.thread === thread));
    if (own.length > 0) await redis.zrem(key, ...own);
  }
}

/** What the keys of a console thread begin with; they share one slot. */
export function prefixOf(thread: string): string {
  return `heddle:{${threadId(consoleThread(thread))}}:local:`;
}

/** A transaction reports the failure of a single command inside its result. */
export async function run(transaction: ChainableCommander): Promise<void> {
  for (const [error] of (await transaction.exec()) ?? []) {
    if (error) throw error;
  }
}

/** Apart from ids of messages, and of their alphabet, which the scripts know. */
function thumbnailField(id: string): string {
  return `thumbnail${id}`;
}

function incomingKey(thread: string): string {
  return `${prefixOf(thread)}incoming`;
}

function chargeFor(bytes: number): number {
  return Math.max(bytes, leastCharge);
}

function parseHandle(handle: string): { thread: string; id: string } {
  const [thread = "", id = ""] = handle.split(".");
  return { thread, id };
}

function parseMembers(members: unknown): { thread: string; id: string }[] {
  return Array.isArray(members) ? members.map((member) => parseHandle(String(member))) : [];
}

function refusal(who: string, bytes: number): string {
  const most = `${Math.floor(bytes / mebibyte)} MiB`;
  return `The file was not taken: ${who} more than ${most} of files that Heddle has not read yet. Send those with a message, or wait an hour: what no message has brought by then is deleted.`;
}
