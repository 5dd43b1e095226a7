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
}

/** Counts what is sent, and says no to what is too much. */
export class Limits {
  readonly #hurry: number;
  readonly #used = new Map<string, { count: number; until: number }>();

  /** @param hurry how many times sooner than Discord it forgets */
  constructor(hurry: number) {
    this.#hurry = hurry;
  }

  /** Counts one request. */
  take(method: string, path: string): Allowance {
    for (const { method: known, route, bucket } of buckets) {
      const channel = route.exec(path)?.[1];
      if (known !== method || channel === undefined) continue;
      const key = `${bucket.name}:${channel}`;
      const now = Date.now();
      const before = this.#used.get(key);
      const used =
        before && before.until > now ? before : { count: 0, until: now + bucket.windowMs / this.#hurry };
      this.#used.set(key, used);
      const isTooMuch = used.count >= bucket.limit;
      if (!isTooMuch) used.count += 1;
      const leftMs = used.until - now;
      return {
        headers: {
          "x-ratelimit-bucket": bucket.name,
          "x-ratelimit-limit": String(bucket.limit),
          "x-ratelimit-remaining": String(bucket.limit - used.count),
          "x-ratelimit-reset": String(used.until / 1_000),
          "x-ratelimit-reset-after": String(leftMs / 1_000),
        },
        ...(isTooMuch && { retryAfterMs: leftMs }),
      };
    }
    return { headers: {} };
  }
}
