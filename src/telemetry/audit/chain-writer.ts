import type { Redis } from "ioredis";
import { z } from "zod";
import { heddle } from "../../agent/messages.ts";
import { keys } from "../../queue/redis/keys.ts";
import { loadScript } from "../../queue/redis/script.ts";
import { appendLink, genesis, type Link, parseEntry } from "./chain.ts";
import type { AuditFact } from "./fact.ts";
import type { AuditKey } from "./key.ts";

const appendAuditScript = loadScript(new URL("append-audit.lua", import.meta.url));
const appendReply = z.tuple([z.literal([0, 1]), z.int(), z.string(), z.int(), z.string()]);

/** A fact and when it happened. */
export interface Stamped {
  fact: AuditFact;
  /** Milliseconds since the epoch. */
  at: number;
}

export interface ChainWriter {
  /** Resolves when the facts are in the log, in this order. @throws what Redis answers when it takes no writes */
  write(facts: readonly Stamped[]): Promise<void>;
}

interface Found {
  head: Link;
  top: number;
  tail: string;
}

/**
 * Redis cannot compute SHA-256, so the chain is made here, behind the head that this process saw last; where
 * another one was faster, the script refuses, and it is made anew. Where the log in Redis is not what Heddle has
 * written, the chain goes on behind all that is there with an entry that says so.
 */
export function createChainWriter(
  redis: Redis,
  now: () => number,
  options: {
    key?: AuditKey | undefined;
    known?: Link | undefined;
    onBreak(problem: string): void;
  },
): ChainWriter {
  const { key, onBreak } = options;
  let known = options.known ?? genesis;
  let head = known;

  const chain = (start: Link, facts: readonly Stamped[]) => {
    let last = start;
    const lines = facts.map(({ fact, at }) => {
      const { line, link } = appendLink(last, fact, at, key);
      last = link;
      return line;
    });
    return { lines, last };
  };

  /** Whether the facts are in the log; else what is there instead. */
  const append = async (seen: Link, start: Link, facts: readonly Stamped[]): Promise<Found | undefined> => {
    const { lines, last } = chain(start, facts);
    const args = [seen.n, seen.hash, start.n + 1, last.hash, ...lines];
    const reply = await appendAuditScript.run(redis, [keys.audit, keys.auditHead], args);
    const [written, n, hash, top, tail] = appendReply.parse(reply);
    head = { n, hash };
    if (written === 0) return { head, top, tail };
    known = head;
    return undefined;
  };

  const writeBehindBreak = async ({ top }: Found, facts: readonly Stamped[]) => {
    const n = Math.max(head.n, known.n, top);
    const texts = [`${known.n}:${known.hash}`, `${head.n}:${head.hash}`] as const;
    const fact: AuditFact = { what: "log-broken", known: texts[0], head: texts[1], top, by: heddle };
    const start = { n, hash: head.hash };
    const refused = await append(head, start, [{ fact, at: now() }, ...facts]);
    if (!refused) {
      onBreak(
        `The audit log in Redis is not what Heddle has written (known ${texts[0]}, head ${texts[1]}, newest entry ${top}); it goes on with entry ${n + 1}. heddle audit verify says more.`,
      );
    }
    return refused;
  };

  return {
    async write(facts) {
      let refused = await append(head, head, facts);
      while (refused) {
        if (isBroken(refused, known)) refused = await writeBehindBreak(refused, facts);
        else {
          known = head;
          refused = await append(head, head, facts);
        }
      }
    },
  };
}

/** Whether what is in Redis can not be what Heddles have written, one behind the other. */
function isBroken({ head, top, tail }: Found, known: Link): boolean {
  if (head.n < known.n || (head.n === known.n && head.hash !== known.hash)) return true;
  if (top > head.n) return true;
  // Past days are in files.
  if (tail === "") return false;
  const newest = parseEntry(tail);
  return newest?.n !== head.n || newest.hash !== head.hash;
}
