import type { RequestLimit } from "../../../chat/request-limit.ts";

/**
 * Starts of all processes in one workspace: starts and ends are of Tier 2, 20 a minute each.
 * https://docs.slack.dev/apis/web-api/rate-limits
 */
export const startLimit = {
  ...{ most: 15, reserve: 0, windowMs: 60_000 },
  // Slack shuts nobody out for asking too often.
  ...{ mostInvalid: Number.MAX_SAFE_INTEGER, invalidWindowMs: 60_000 },
};

/** How many streams may be started in a team. @param shared by all processes; without it this one counts its own */
export function createStartLimits(
  shared: (team: string) => RequestLimit = createOwnLimit,
): (team: string) => RequestLimit {
  const limits = new Map<string, RequestLimit>();
  return (team) => {
    const limit = limits.get(team) ?? shared(team);
    limits.set(team, limit);
    return limit;
  };
}

/** Counts the starts of this process alone. */
function createOwnLimit(): RequestLimit {
  const started: number[] = [];
  let restsUntil = 0;
  return {
    async acquire() {
      while ((started[0] ?? Infinity) <= Date.now() - startLimit.windowMs) started.shift();
      if (Date.now() < restsUntil) return { kind: "paused", ms: restsUntil - Date.now() };
      if (started.length >= startLimit.most) return { kind: "wait", ms: startLimit.windowMs };
      started.push(Date.now());
      return { kind: "go" };
    },
    async pause(ms) {
      restsUntil = Date.now() + ms;
    },
    countInvalid: async () => undefined,
  };
}
