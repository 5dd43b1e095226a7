import { hostname } from "node:os";
import type { Redis } from "ioredis";
import { z } from "zod";
import { createStoredParser } from "../../agent/text/parse-stored.ts";
import { keys } from "../../queue/redis/keys.ts";
import { explainRefusal } from "../../queue/redis/unavailable.ts";
import { parseEntry } from "./chain.ts";

const noticeSchema = z.looseObject({ why: z.string(), since: z.number(), at: z.number() });
const parseNotice = createStoredParser(noticeSchema);

/** A process that fails says so about every second; one that has died with its facts is told of for an hour. */
const keptMs = 3_600_000;
const renewMs = 5_000;

/** What of the log a process takes care of. */
export type AuditWork = "writing" | "archiving" | "anchoring";

/** Tells `heddle doctor`, the System page and `/readyz` what fails in this process, as far as Redis takes it. */
export function createAuditProblems(redis: Redis, work: AuditWork, now: () => number) {
  const field = `${work} ${hostname()} ${process.pid}`;
  let since: number | undefined;
  let told = 0;
  return {
    get isNoted() {
      return since !== undefined;
    },
    async note(why: string): Promise<void> {
      since ??= now();
      if (now() - told < renewMs) return;
      told = now();
      const notice = JSON.stringify({ v: 1, why, since, at: told });
      await redis
        .multi()
        .hset(keys.auditFailing, field, notice)
        .pexpire(keys.auditFailing, keptMs)
        .exec()
        // It goes to the program's log in any case.
        .catch(() => undefined);
    },
    async clear(): Promise<void> {
      since = undefined;
      told = 0;
      await redis.hdel(keys.auditFailing, field).catch(() => undefined);
    },
  };
}

/** What is wrong with the audit log at this moment, a sentence each; a forgery inside takes `heddle audit verify`. */
export async function listAuditProblems(redis: Redis): Promise<string[]> {
  const notices = Object.entries(await redis.hgetall(keys.auditFailing)).flatMap(([field, json]) => {
    const notice = parseNotice(json);
    if (!notice.ok) return [];
    const [work, host, pid] = field.split(" ");
    const since = new Date(notice.value.since).toISOString();
    return [
      `The audit log's ${work} fails in process ${pid} on ${host} since ${since}: ${notice.value.why.replace(/\.?$/, ".")}`,
    ];
  });
  return [...notices, ...(await findMisplaced(redis))];
}

const headReply = z.tuple([z.string().nullable(), z.string().nullable()]);
const tailReply = z.array(z.tuple([z.string(), z.array(z.string())]));

/** Whether the newest entry is the head's. */
async function findMisplaced(redis: Redis): Promise<string[]> {
  // Together, so that no entry comes in between.
  const replies = await redis
    .multi()
    .hmget(keys.auditHead, "n", "hash")
    .xrevrange(keys.audit, "+", "-", "COUNT", 1)
    .exec()
    .catch((error: unknown) => {
      // One that is full takes no transaction, not even one that only reads.
      const refusal = explainRefusal(error);
      if (refusal === undefined) throw error;
      return refusal;
    });
  if (typeof replies === "string")
    return [`The audit log cannot be written, so what happens is not recorded. ${replies}`];
  const failed = replies?.find(([error]) => error)?.[0];
  if (failed) {
    return [`The audit log cannot be read in Redis (${failed.message}), so what happens is not recorded.`];
  }
  const [n, hash] = headReply.parse(replies?.[0]?.[1]);
  const [newest] = tailReply.parse(replies?.[1]?.[1]);
  // Past days are in files.
  if (!newest) return [];
  const entry = parseEntry(newest[1][1] ?? "");
  return String(entry?.n) === n && entry?.hash === hash
    ? []
    : [
        "The newest entry of the audit log is not its head: somebody else has written there. heddle audit verify says more.",
      ];
}
