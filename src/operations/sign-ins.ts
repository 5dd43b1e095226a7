import { createHash, randomBytes } from "node:crypto";
import type { Redis } from "ioredis";
import { z } from "zod";
import { createStoredParser } from "../agent/parse-stored.ts";
import { keys } from "../queue/redis/keys.ts";

/**
 * Which browsers are signed in at the console, each by a cookie of its own, so that one of them can be signed out.
 * Redis holds SHA-256 digests only: whoever reads them there cannot make a cookie.
 */
export interface SignIns {
  /** The cookie of a browser that has shown a token. @param by says which token, and nothing about it */
  begin(by: string): Promise<string>;
  /** Which token the browser has shown; undefined where it is signed out, or never was in. */
  find(cookie: string): Promise<string | undefined>;
  /** Ends it, for whoever has the cookie too. */
  end(cookie: string): Promise<void>;
}

export const signedInSeconds = 30 * 24 * 60 * 60;

const form = /^[\w-]{43}$/;
const parse = createStoredParser(z.looseObject({ by: z.string() }));

export function createSignIns(redis: Redis): SignIns {
  return {
    async begin(by) {
      const cookie = randomBytes(32).toString("base64url");
      await redis.set(keyOf(cookie), JSON.stringify({ v: 1, by }), "EX", signedInSeconds);
      return cookie;
    },
    async find(cookie) {
      const json = form.test(cookie) ? await redis.get(keyOf(cookie)) : null;
      const parsed = json === null ? undefined : parse(json);
      return parsed?.ok ? parsed.value.by : undefined;
    },
    async end(cookie) {
      if (form.test(cookie)) await redis.del(keyOf(cookie));
    },
  };
}

function keyOf(cookie: string): string {
  return keys.signedIn(createHash("sha256").update(cookie).digest("hex"));
}
