import { setTimeout as delay } from "node:timers/promises";
import type { Redis } from "ioredis";
import { heddle } from "../../agent/messages.ts";
import { keys } from "../../queue/redis/keys.ts";
import { genesis, type Link } from "./chain.ts";
import { type ChainWriter, createChainWriter, type Stamped } from "./chain-writer.ts";
import type { AuditFact } from "./fact.ts";
import type { AuditKey } from "./key.ts";
import type { PeopleSeals } from "./people.ts";

/** Writes the audit log, which all processes share: one chain, in one order. */
export interface AuditLog {
  /**
   * Resolves when the fact is in Redis, or, where it is not required, was tried as a note is.
   *
   * @param required by default whether the log is
   * @throws what Redis answers when it takes no writes and the fact is required
   */
  append(fact: AuditFact, required?: boolean): Promise<void>;
  /** For what has happened by now: resolves when it was tried, and it is tried again until Redis takes it. */
  note(fact: AuditFact): Promise<void>;
  /** Tries once more what is left; resolves when nothing is under way. */
  close(): Promise<void>;
}

/** How writing goes in this process. */
export interface AuditHealth {
  /** Since when nothing can be written, ms since the epoch; undefined while it can. */
  failingSince: number | undefined;
  why: string;
  /** Facts that are not in Redis yet. */
  waiting: number;
  /** Facts that did not fit into memory, since the start. */
  lost: number;
}

export interface AuditLogOptions {
  /** Proves who wrote an entry. */
  key?: AuditKey | undefined;
  /** The newest head that is known from elsewhere than Redis. */
  known?: Link | undefined;
  /** Without it, names are written in clear. */
  people?: PeopleSeals | undefined;
  /** Refuse what cannot be written before it is done. */
  required?: boolean;
  /** Facts that wait in memory at most. */
  mostWaiting?: number;
  /** Told whenever writing begins to fail, still fails (about every retry) or succeeds again. */
  onHealth?(health: AuditHealth): void;
}

/** More wait for the next write. */
const batchSize = 200;
const retryMs = 1_000;
/** Of some 300 bytes each, those of tools up to 1 KB. */
const defaultWaiting = 20_000;

interface Waiting extends Stamped {
  /** Also when a note was tried in vain. */
  resolve(failure?: unknown): void;
  /** Absent for a note. */
  reject?(error: unknown): void;
}

/**
 * Facts that come while a write is under way go together with the next, so that a busy process needs few writes and
 * wins often enough. While Redis refuses, notes wait in memory up to a bound; those beyond it are counted, and the
 * count is itself a fact.
 *
 * @param onProblem told once when writing begins to fail, and of breaks of the chain
 */
export function openAuditLog(
  redis: Redis,
  now: () => number,
  onProblem: (problem: string, error?: unknown) => void,
  options: AuditLogOptions = {},
): AuditLog {
  const writer = createChainWriter(redis, now, { ...options, onBreak: onProblem });
  return new QueuedLog(writer, now, onProblem, options);
}

class QueuedLog implements AuditLog {
  readonly #writer: ChainWriter;
  readonly #now: () => number;
  readonly #onProblem: (problem: string, error?: unknown) => void;
  readonly #options: AuditLogOptions;
  readonly #mostWaiting: number;
  readonly #closing = new AbortController();
  #waiting: Waiting[] = [];
  #writing: Promise<void> | undefined;
  #failing: { since: number; why: string } | undefined;
  /** Not yet told in the log. */
  #lost = { count: 0, since: 0 };
  #lostInAll = 0;
  /** As `onHealth` was told last. */
  #toldWaiting = 0;
  #retrying = 0;

  constructor(
    writer: ChainWriter,
    now: () => number,
    onProblem: (problem: string, error?: unknown) => void,
    options: AuditLogOptions,
  ) {
    this.#writer = writer;
    this.#now = now;
    this.#onProblem = onProblem;
    this.#options = options;
    this.#mostWaiting = options.mostWaiting ?? defaultWaiting;
  }

  append(fact: AuditFact, required = this.#options.required): Promise<void> {
    if (!required) return this.note(fact);
    return new Promise((resolve, reject) => {
      this.#add({ fact, at: this.#now(), resolve: () => resolve(), reject });
    });
  }

  note(fact: AuditFact): Promise<void> {
    return new Promise((resolve) => {
      if (this.#waiting.length + this.#retrying >= this.#mostWaiting) {
        if (this.#lost.count === 0) this.#lost.since = this.#now();
        this.#lost.count += 1;
        this.#lostInAll += 1;
        return resolve();
      }
      this.#add({ fact, at: this.#now(), resolve: () => resolve() });
      // It was tried in vain a moment ago.
      if (this.#failing) resolve();
    });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#writing;
  }

  #add(entry: Waiting): void {
    this.#waiting.push(entry);
    this.#writing ??= this.#drain();
  }

  async #drain(): Promise<void> {
    let again: Waiting[] = [];
    while (again.length + this.#waiting.length > 0) {
      // The same entries as before: the last attempt may have reached Redis.
      const batch = again.length > 0 ? again : this.#waiting.splice(0, batchSize);
      again = [];
      try {
        await this.#writer.write(await this.#seal(batch));
        for (const { resolve } of batch) resolve();
        this.#recovered();
      } catch (error) {
        for (const { resolve, reject } of batch) (reject ?? resolve)(error);
        again = batch.filter(({ reject }) => !reject);
        this.#retrying = again.length;
        this.#failed(error);
        if (this.#closing.signal.aborted) break;
        if (again.length > 0) {
          await delay(retryMs, undefined, { signal: this.#closing.signal }).catch(() => undefined);
        }
      }
    }
    this.#writing = undefined;
    // Whoever was told that facts wait would believe so until the next failure.
    if (this.#toldWaiting > 0 && !this.#failing) this.#tellHealth();
  }

  async #seal(batch: readonly Stamped[]): Promise<Stamped[]> {
    const facts = batch.map(({ fact }) => fact);
    const sealed = (await this.#options.people?.seal(facts)) ?? facts;
    return batch.map(({ at, fact }, index) => ({ at, fact: sealed[index] ?? fact }));
  }

  #failed(error: unknown): void {
    const why = error instanceof Error ? error.message : String(error);
    if (!this.#failing) {
      this.#failing = { since: this.#now(), why };
      this.#onProblem("The audit log could not be written.", error);
    }
    this.#tellHealth();
  }

  #recovered(): void {
    this.#retrying = 0;
    if (this.#lost.count > 0) {
      const fact: AuditFact = { what: "facts-lost", ...this.#lost, by: heddle };
      this.#lost = { count: 0, since: 0 };
      this.#waiting.push({ fact, at: this.#now(), resolve: () => undefined });
    }
    if (!this.#failing) return;
    this.#failing = undefined;
    this.#tellHealth();
  }

  #tellHealth(): void {
    this.#toldWaiting = this.#waiting.length + this.#retrying;
    this.#options.onHealth?.({
      failingSince: this.#failing?.since,
      why: this.#failing?.why ?? "",
      waiting: this.#toldWaiting,
      lost: this.#lostInAll,
    });
  }
}

/** The newest entry, as Redis notes it apart from the log. */
export async function readAuditHead(redis: Redis): Promise<Link> {
  const [n, hash] = await redis.hmget(keys.auditHead, "n", "hash");
  return n && hash ? { n: Number(n), hash } : genesis;
}

/** The lines in Redis from entry `from` on, up to the newest at the beginning: others may write faster than one reads. */
export async function* readAuditLines(redis: Redis, from: number): AsyncGenerator<string> {
  const newest = await redis.xrevrange(keys.audit, "+", "-", "COUNT", 1);
  const until = newest[0]?.[0] ?? "0-1";
  for (let next = from; ; ) {
    if (next > Number.parseInt(until, 10)) return;
    const found = await redis.xrange(keys.audit, `${next}-0`, until, "COUNT", 1_000);
    for (const [id, fields] of found) {
      yield fields[1] ?? "";
      next = Number.parseInt(id, 10) + 1;
    }
    if (found.length === 0) return;
  }
}
