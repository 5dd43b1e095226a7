import { createHash, randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Redis } from "ioredis";
import { z } from "zod";
import type { RequestLimit, RequestPermit } from "../../chat/request-limit.ts";
import { keys } from "../redis/keys.ts";
import { loadScript } from "../redis/script.ts";

const acquireScript = loadScript(new URL("scripts/acquire-request.lua", import.meta.url));
const refuseScript = loadScript(new URL("scripts/refuse-requests.lua", import.meta.url));
const acquireReply = z.tuple([z.literal([0, 1, 2]), z.int()]);

/** What a platform takes of one bot. */
export interface RequestLimitSettings {
  /** Requests in each window, and how many of them only urgent ones may be. */
  most: number;
  reserve: number;
  windowMs: number;
  /** Refusals in each window of theirs before nothing is asked any more until it is over. */
  mostInvalid: number;
  invalidWindowMs: number;
  /** For how long Redis is waited for before a process goes on by itself, ms. Default: 500. */
  patienceMs?: number;
}

/**
 * Shares the limit of a bot among all processes.
 *
 * @param bot what the platform counts by, such as its token; Redis gets only its digest
 */
export function createRequestLimit(
  redis: Redis,
  { platform, bot }: { platform: string; bot: string },
  settings: RequestLimitSettings,
): RequestLimit {
  const { most, reserve, windowMs, mostInvalid, invalidWindowMs, patienceMs = 500 } = settings;
  const digest = createHash("sha256").update(bot).digest("hex").slice(0, 16);
  const names = {
    sent: keys.requests(platform, digest, "sent"),
    paused: keys.requests(platform, digest, "paused"),
    invalid: keys.requests(platform, digest, "invalid"),
  };
  /** Until when Redis, which was silent, is not asked, ms. */
  let aloneUntil = 0;

  /** What Redis says, or the other where it says nothing in time: a stop must get through without it. */
  const askRedis = async <T>(ask: () => Promise<T>, otherwise: T): Promise<T> => {
    if (redis.status !== "ready" || Date.now() < aloneUntil) return otherwise;
    const late = new AbortController();
    const silence = async (): Promise<T> => {
      await delay(patienceMs, undefined, { signal: late.signal });
      aloneUntil = Date.now() + patienceMs;
      return otherwise;
    };
    const silent = silence();
    // Ended below.
    silent.catch(() => undefined);
    try {
      return await Promise.race([ask(), silent]);
    } catch {
      // Its own connection reports what is wrong with Redis.
      return otherwise;
    } finally {
      late.abort();
    }
  };

  const refuse = (pauseMs: number, counts: boolean) =>
    askRedis<unknown>(
      () =>
        refuseScript.run(
          redis,
          [names.paused, names.invalid],
          [Math.ceil(pauseMs), counts ? "1" : "0", invalidWindowMs],
        ),
      undefined,
    );

  return {
    acquire: (isUrgent) =>
      askRedis<RequestPermit>(
        async () => {
          const reply = await acquireScript.run(
            redis,
            [names.sent, names.paused, names.invalid],
            [randomUUID(), isUrgent ? most : most - reserve, windowMs, mostInvalid],
          );
          const [what, ms] = acquireReply.parse(reply);
          return what === 0 ? { kind: "go" } : { kind: what === 1 ? "wait" : "paused", ms };
        },
        { kind: "go" },
      ),
    async pause(ms) {
      await refuse(ms, false);
    },
    async countInvalid() {
      await refuse(0, true);
    },
  };
}
