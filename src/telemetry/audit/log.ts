import { setTimeout as delay } from "node:timers/promises";
import type { Redis } from "ioredis";
import { z } from "zod";
import { keys } from "../../queue/redis/keys.ts";
import { loadScript } from "../../queue/redis/script.ts";
import { appendLink, genesis, type Link } from "./chain.ts";
import type { AuditFact } from "./fact.ts";

const appendAuditScript = loadScript(new URL("append-audit.lua", import.meta.url));
/** Whether the entries are in the log, and the number and hash of its newest entry. */
const appendReply = z.tuple([z.literal([0, 1]), z.int(), z.string()]);

/** Writes the audit log, which all processes share: one chain, in one order. */
export interface AuditLog {
  /** Resolves when the fact is in Redis. @throws what Redis answers when it takes no writes */
  append(fact: AuditFact): Promise<void>;
  /** For what has happened by now: resolves when it was tried, and it is tried again until Redis takes it. */
  note(fact: AuditFact): Promise<void>;
  /** Tries once more what is left; resolves when nothing is under way. */
  close(): Promise<void>;
}

/** More wait for the next write. */
const batchSize = 200;
const retryMs = 1_000;

interface Waiting {
  fact: AuditFact;
  at: number;
  /** Also when a note was tried in vain. */
  resolve(failure?: unknown): void;
  /** Absent for a note. */
  reject?(error: unknown): void;
}

/**
 * Redis cannot compute SHA-256, so the chain is made here, behind the head that this process saw last; where
 * another one was faster, the script refuses, and it is made anew. Facts that come while a write is under way go
 * together with the next, so that a busy process needs few writes and wins often enough.
 *
 * @param onProblem told each time that notes could not be written
 */
export function openAuditLog(
  redis: Redis,
  now: () => number,
  onProblem: (problem: string, error: unknown) => void,
): AuditLog {
  const waiting: Waiting[] = [];
  let head: Link = genesis;
  let writing: Promise<void> | undefined;
  const closing = new AbortController();

  const write = async (batch: readonly Waiting[]) => {
    for (;;) {
      const before = head;
      const lines: string[] = [];
      let last = before;
      for (const { fact, at } of batch) {
        const { line, link } = appendLink(last, fact, at);
        lines.push(line);
        last = link;
      }
      const args = [before.n + 1, before.hash, last.hash, ...lines];
      const reply = await appendAuditScript.run(redis, [keys.audit, keys.auditHead], args);
      const [written, n, hash] = appendReply.parse(reply);
      head = { n, hash };
      if (written === 1) return;
    }
  };

  const drain = async () => {
    while (waiting.length > 0) {
      const batch = waiting.splice(0, batchSize);
      try {
        await write(batch);
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { resolve, reject } of batch) (reject ?? resolve)(error);
        const notes = batch.filter(({ reject }) => !reject);
        if (notes.length === 0) continue;
        onProblem("The audit log could not be written.", error);
        if (closing.signal.aborted) break;
        waiting.unshift(...notes);
        await delay(retryMs, undefined, { signal: closing.signal }).catch(() => undefined);
      }
    }
    writing = undefined;
  };

  const add = (entry: Waiting) => {
    waiting.push(entry);
    writing ??= drain();
  };

  return {
    append: (fact) =>
      new Promise((resolve, reject) => add({ fact, at: now(), resolve: () => resolve(), reject })),
    note: (fact) => new Promise((resolve) => add({ fact, at: now(), resolve: () => resolve() })),
    async close() {
      closing.abort();
      await writing;
    },
  };
}

/** The newest entry, as Redis notes it apart from the log. */
export async function readAuditHead(redis: Redis): Promise<Link> {
  const [n, hash] = await redis.hmget(keys.auditHead, "n", "hash");
  return n && hash ? { n: Number(n), hash } : genesis;
}

/** The lines in Redis from entry `from` on. */
export async function* readAuditLines(redis: Redis, from: number): AsyncGenerator<string> {
  for (let next = from; ; ) {
    const found = await redis.xrange(keys.audit, `${next}-0`, "+", "COUNT", 1_000);
    for (const [id, fields] of found) {
      yield fields[1] ?? "";
      next = Number.parseInt(id, 10) + 1;
    }
    if (found.length === 0) return;
  }
}
