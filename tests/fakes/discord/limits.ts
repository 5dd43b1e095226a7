/** Of all requests of a bot together, but for what answers interactions. https://docs.discord.com/developers/topics/rate-limits#global-rate-limit */
const everything: Bucket = { name: "global", limit: 50, windowMs: 1_000 };
const isExempt = (path: string) => /^\/(?:interactions|webhooks)\//.test(path);

/** Messages older than an hour take some edits in a channel. */
const oldEdits: Bucket = { name: "old-edits", limit: 3, windowMs: 20_000 };

/** What Discord lets through for one route and channel. */
interface Bucket {
  name: string;
  limit: number;
  windowMs: number;
}

/** As measured by many; Discord itself tells them only in its headers. */
const buckets: { method: string; route: RegExp; bucket: Bucket }[] = [
  {
    method: "POST",
    route: /^\/channels\/(\d+)\/messages$/,
    bucket: { name: "post", limit: 5, windowMs: 5_000 },
  },
  {
    method: "PATCH",
    route: /^\/channels\/(\d+)\/messages\/\d+$/,
    bucket: { name: "edit", limit: 5, windowMs: 5_000 },
  },
  {
    method: "POST",
    route: /^\/channels\/(\d+)\/typing$/,
    bucket: { name: "typing", limit: 5, windowMs: 5_000 },
  },
  {
    method: "PUT",
    route: /^\/channels\/(\d+)\/messages\/\d+\/reactions\//,
    bucket: { name: "react", limit: 1, windowMs: 250 },
  },
  {
    method: "DELETE",
    route: /^\/channels\/(\d+)\/messages\/\d+\/reactions\//,
    bucket: { name: "react", limit: 1, windowMs: 250 },
  },
];

export interface Allowance {
  headers: Record<string, string>;
  /** Set when it was too soon. */
  retryAfterMs?: number;
  /** Whether that was for all routes. */
  isGlobal?: true;
}

/** Counts what is sent, and says no to what is too much. */
export class Limits {
  readonly #hurry: number;
  readonly #used = new Map<string, { count: number; until: number }>();

  /** @param hurry how many times sooner than Discord it forgets */
  constructor(hurry: number) {
    this.#hurry = hurry;
  }

  /** Counts one edit of a message older than an hour. @returns how long it is too soon, ms */
  takeOldEdit(channel: string): number {
    return this.#count(oldEdits, channel).tooSoonMs;
  }

  /** Counts one request. */
  take(method: string, path: string): Allowance {
    if (!isExempt(path)) {
      const { tooSoonMs } = this.#count(everything, "");
      if (tooSoonMs > 0) return { headers: {}, retryAfterMs: tooSoonMs, isGlobal: true };
    }
    for (const { method: known, route, bucket } of buckets) {
      const channel = route.exec(path)?.[1];
      if (known !== method || channel === undefined) continue;
      const { used, tooSoonMs } = this.#count(bucket, channel);
      return {
        headers: {
          "x-ratelimit-bucket": bucket.name,
          "x-ratelimit-limit": String(bucket.limit),
          "x-ratelimit-remaining": String(bucket.limit - used.count),
          "x-ratelimit-reset": String(used.until / 1_000),
          "x-ratelimit-reset-after": String((used.until - Date.now()) / 1_000),
        },
        ...(tooSoonMs > 0 && { retryAfterMs: tooSoonMs }),
      };
    }
    return { headers: {} };
  }

  #count({ name, limit, windowMs }: Bucket, channel: string) {
    const key = `${name}:${channel}`;
    const now = Date.now();
    const before = this.#used.get(key);
    const used = before && before.until > now ? before : { count: 0, until: now + windowMs / this.#hurry };
    this.#used.set(key, used);
    if (used.count >= limit) return { used, tooSoonMs: used.until - now };
    used.count += 1;
    return { used, tooSoonMs: 0 };
  }
}
