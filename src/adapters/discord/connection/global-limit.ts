import type { RESTOptions } from "discord.js";

type MakeRequest = RESTOptions["makeRequest"];

/** Until when Discord takes nothing of a bot, ms since the epoch: all REST clients of this process share it. */
const pausedUntil = new Map<string, number>();

/** Interactions do not count. https://docs.discord.com/developers/topics/rate-limits#global-rate-limit */
function isExempt(url: string): boolean {
  return /\/v\d+\/(?:interactions|webhooks)\//.test(url);
}

/**
 * The same requests, but while Discord takes nothing of the bot none of its clients asks again: each gets the refusal that
 * one of them has got. Ten thousand refused requests in ten minutes would shut the address out.
 * https://docs.discord.com/developers/topics/rate-limits#invalid-request-limit-aka-cloudflare-bans
 */
export function sharingGlobalLimit(bot: string, makeRequest: MakeRequest): MakeRequest {
  return async (url, init) => {
    const left = (pausedUntil.get(bot) ?? 0) - Date.now();
    if (left > 0 && !isExempt(url)) return refuse(left / 1_000);
    const response = await makeRequest(url, init);
    const seconds = Number(response.headers.get("retry-after"));
    if (response.status === 429 && response.headers.has("x-ratelimit-global") && seconds > 0) {
      pausedUntil.set(bot, Math.max(pausedUntil.get(bot) ?? 0, Date.now() + seconds * 1_000));
    }
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
