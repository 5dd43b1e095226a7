import { createHash, randomBytes } from "node:crypto";
import type { Redis } from "ioredis";
import { z } from "zod";
import { createStoredParser } from "../../agent/text/parse-stored.ts";
import { keys } from "../../queue/redis/keys.ts";

/** Whom a provider has signed in. */
export interface Identity {
  name: string;
  /** Those of the person's groups that the settings name. */
  groups: string[];
}

/** What a browser has shown. */
export interface SignIn {
  /** Which token, and nothing about it; or which provider. */
  by: string;
  /** Only by a provider. */
  identity?: Identity;
}

/**
 * Which browsers are signed in at the console, each by a cookie of its own, so that one of them can be signed out.
 * Redis holds SHA-256 digests only: whoever reads them there cannot make a cookie.
 */
export interface SignIns {
  /** The cookie of a browser. @param seconds how long it is good for */
  begin(shown: SignIn, seconds: number): Promise<string>;
  /** What the browser has shown; undefined where it is signed out, or never was in. */
  find(cookie: string): Promise<SignIn | undefined>;
  /** Ends it, for whoever has the cookie too. */
  end(cookie: string): Promise<void>;
}

const form = /^[\w-]{43}$/;
const identity = z.looseObject({ name: z.string(), groups: z.array(z.string()) });
const parse = createStoredParser(z.looseObject({ by: z.string(), identity: identity.exactOptional() }));

export function createSignIns(redis: Redis): SignIns {
  return {
    async begin(shown, seconds) {
      const cookie = randomBytes(32).toString("base64url");
      const key = keyOf(cookie);
      await redis.set(key, JSON.stringify({ v: 1, ...shown }), "EX", seconds);
      if (shown.identity) {
        await redis.sadd(keys.signedInAs(shown.identity.name), key);
        await redis.expire(keys.signedInAs(shown.identity.name), seconds);
      }
      return cookie;
    },
    async find(cookie) {
      const json = form.test(cookie) ? await redis.get(keyOf(cookie)) : null;
      const parsed = json === null ? undefined : parse(json);
      return parsed?.ok ? parsed.value : undefined;
    },
    async end(cookie) {
      if (form.test(cookie)) await redis.del(keyOf(cookie));
    },
  };
}

/** Ends whatever a provider has signed in under that name. Gives how many browsers that were. */
export async function endSignInsOf(redis: Redis, name: string): Promise<number> {
  const found = await redis.smembers(keys.signedInAs(name));
  await redis.del(keys.signedInAs(name));
  const ended = await Promise.all(found.map((key) => redis.del(key)));
  return ended.reduce((sum, one) => sum + one, 0);
}

/** What seals what browsers carry while people sign in at a provider: the same for all gateways. */
export async function readSignInSecret(redis: Redis): Promise<string> {
  await redis.setnx(keys.signInSecret, randomBytes(32).toString("base64url"));
  const secret = await redis.get(keys.signInSecret);
  if (secret === null) throw new Error("Redis does not keep what seals a sign-in.");
  return secret;
}

function keyOf(cookie: string): string {
  return keys.signedIn(createHash("sha256").update(cookie).digest("hex"));
}
