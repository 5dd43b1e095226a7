import { setTimeout as delay } from "node:timers/promises";
import type { RESTOptions } from "discord.js";
import type { RequestLimit } from "../../../chat/request-limit.ts";

type MakeRequest = RESTOptions["makeRequest"];
type RequestInit = Parameters<MakeRequest>[1];

/**
 * What Discord takes of a bot: 50 requests a second, of which some are left as room for what is under way, and 10,000
 * refused ones in ten minutes, before it shuts the address out. Ours are counted in windows of their own, two of which
 * may lie in one of Discord's.
 * https://docs.discord.com/developers/topics/rate-limits#global-rate-limit
 * https://docs.discord.com/developers/topics/rate-limits#invalid-request-limit-aka-cloudflare-bans
 */
export const botLimit = {
  ...{ most: 45, reserve: 15, windowMs: 1_000 },
  ...{ mostInvalid: 4_500, invalidWindowMs: 600_000 },
};

/** Until when Discord takes nothing of a bot, ms since the epoch: all REST clients of this process share it. */
const pausedUntil = new Map<string, number>();

/** For so long a request waits for those before it; after that its caller is told, ms. */
const longestWaitMs = 3_000;

/** Interactions do not count. https://docs.discord.com/developers/topics/rate-limits#global-rate-limit */
function isExempt(url: string): boolean {
  return /\/v\d+\/(?:interactions|webhooks)\//.test(url);
}

/** Signs of work, which may come later than what people wait for. */
function isSignOfWork(url: string, method: string | undefined): boolean {
  return method === "PATCH" || method === "PUT" || url.endsWith("/typing");
}

/** https://docs.discord.com/developers/topics/rate-limits#invalid-request-limit-aka-cloudflare-bans */
function isInvalid({ status, headers }: Awaited<ReturnType<MakeRequest>>): boolean {
  return (
    status === 401 || status === 403 || (status === 429 && headers.get("x-ratelimit-scope") !== "shared")
  );
}

/**
 * The same requests, but no more of them than Discord takes of a bot, and while it takes nothing none of its clients asks
 * again: each gets the refusal that one of them has got.
 *
 * @param requests what all processes share; without it this one counts for itself
 */
export function shareGlobalLimit(
  bot: string,
  makeRequest: MakeRequest,
  requests?: RequestLimit,
): MakeRequest {
  /** How long Discord takes nothing, ms; 0 when the request may be sent. */
  const acquire = async (url: string, { method, signal }: RequestInit): Promise<number> => {
    const left = (pausedUntil.get(bot) ?? 0) - Date.now();
    if (left > 0 || !requests) return Math.max(0, left);
    const started = Date.now();
    for (;;) {
      const permit = await requests.acquire(!isSignOfWork(url, method));
      if (permit.kind === "go") return 0;
      if (permit.kind === "paused" || Date.now() + permit.ms > started + longestWaitMs) return permit.ms;
      // The client gives it a signal of its time-out.
      await delay(permit.ms, undefined, { ...(signal instanceof AbortSignal && { signal }) });
    }
  };

  return async (url, init) => {
    if (isExempt(url)) return makeRequest(url, init);
    const waitMs = await acquire(url, init);
    if (waitMs > 0) return refuse(waitMs / 1_000);
    const response = await makeRequest(url, init);
    const seconds = Number(response.headers.get("retry-after"));
    if (response.status === 429 && response.headers.has("x-ratelimit-global") && seconds > 0) {
      pausedUntil.set(bot, Math.max(pausedUntil.get(bot) ?? 0, Date.now() + seconds * 1_000));
      await requests?.pause(seconds * 1_000);
    }
    if (isInvalid(response)) await requests?.countInvalid();
    return response;
  };
}

function refuse(seconds: number): Response {
  const body = { message: "You are being rate limited.", retry_after: seconds, global: true };
  return Response.json(body, {
    status: 429,
    headers: {
      ...{ "retry-after": String(seconds), "x-ratelimit-global": "true", "x-ratelimit-scope": "global" },
    },
  });
}
