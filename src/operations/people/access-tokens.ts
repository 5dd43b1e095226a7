import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { Redis } from "ioredis";
import { z } from "zod";
import { digest } from "../digest.ts";
import { createStoredParser } from "../../agent/text/parse-stored.ts";
import type { Role } from "../../chat/roles.ts";
import { keys } from "../../queue/redis/keys.ts";

/** A token of a person for the console and its API: what is known of it without it. Times are ms since the epoch. */
export interface AccessToken {
  id: string;
  /** Whose it is; several may be one person's. */
  name: string;
  role: Role;
  createdAt: number;
  /** Absent for one that does not end. */
  expiresAt?: number;
}

/**
 * The tokens of people. Redis holds SHA-256 digests only: whoever reads them there can neither sign in nor make a cookie.
 *
 * @example
 * const { token } = await tokens.create({ name: "ada", role: "viewer" });
 * await tokens.find({ token }); // { id: "1f0c9a3e", name: "ada", role: "viewer", createdAt: … }
 */
export interface AccessTokens {
  /** The only time that the token itself can be read. @throws Error with a sentence where there are too many */
  create(whose: Pick<AccessToken, "name" | "role" | "expiresAt">): Promise<AccessToken & { token: string }>;
  /** All of them, the oldest first; those that have ended stay for 30 days. */
  list(): Promise<AccessToken[]>;
  /** Ends a token at once; undefined when there is none with this id. */
  revoke(id: string): Promise<AccessToken | undefined>;
  /** Whose token this is; undefined for one that is wrong, revoked or over. */
  find(presented: { token: string } | { id: string }): Promise<AccessToken | undefined>;
}

const mostTokens = 1_000;
const keptAfterEndMs = 30 * 24 * 60 * 60 * 1000;

const form = /^heddle_([0-9a-f]{8})_[\w-]{43}$/;

const parseToken = createStoredParser(
  z.looseObject({
    id: z.string(),
    name: z.string(),
    role: z.enum(["operator", "member", "viewer"]),
    createdAt: z.number(),
    expiresAt: z.exactOptional(z.number()),
    token: z.string(),
  }),
);

/** Whether this has the form of a person's token. */
export function isAccessToken(text: string): boolean {
  return form.test(text);
}

/** Whether this is meant as one, if only a part of it was copied. */
export function looksLikeAccessToken(text: string): boolean {
  return text.startsWith("heddle_");
}

/** What stands for the token in a cookie of an older Heddle, which may run beside this one and expects its digest. */
function toOlderCookie(id: string, token: string): string {
  return `${id}.${createHmac("sha256", token).update("heddle console").digest("hex")}`;
}

export function createAccessTokens(redis: Redis, now: () => number): AccessTokens {
  const readAll = async () => {
    const stored = Object.values(await redis.hgetall(keys.accessTokens));
    return stored.flatMap((json) => {
      const parsed = parseToken(json);
      return parsed.ok ? [parsed.value] : [];
    });
  };

  const read = async (id: string) => {
    const json = await redis.hget(keys.accessTokens, id);
    const parsed = json === null ? undefined : parseToken(json);
    return parsed?.ok ? parsed.value : undefined;
  };

  return {
    async create({ name, role, expiresAt }) {
      const known = await readAll();
      const old = known.filter((one) => (one.expiresAt ?? Infinity) < now() - keptAfterEndMs);
      if (old.length > 0) await redis.hdel(keys.accessTokens, ...old.map(({ id }) => id));
      if (known.length - old.length >= mostTokens)
        throw new Error(`There are ${mostTokens} tokens already: revoke some with heddle tokens revoke.`);
      const id = randomBytes(4).toString("hex");
      const token = `heddle_${id}_${randomBytes(32).toString("base64url")}`;
      const line = { id, name, role, createdAt: now(), ...(expiresAt !== undefined && { expiresAt }) };
      const stored = { v: 1, ...line, token: digest(token), session: digest(toOlderCookie(id, token)) };
      await redis.hset(keys.accessTokens, id, JSON.stringify(stored));
      return { ...line, token };
    },

    async list() {
      return (await readAll()).map(toLine).toSorted((a, b) => a.createdAt - b.createdAt);
    },

    async revoke(id) {
      const found = await read(id);
      if (!found || (await redis.hdel(keys.accessTokens, id)) === 0) return undefined;
      return toLine(found);
    },

    async find(presented) {
      const id = "id" in presented ? presented.id : form.exec(presented.token)?.[1];
      const found = id === undefined ? undefined : await read(id);
      if (!found || (found.expiresAt ?? Infinity) <= now()) return undefined;
      return "id" in presented || isSame(found.token, digest(presented.token)) ? toLine(found) : undefined;
    },
  };
}

function toLine({ id, name, role, createdAt, expiresAt }: AccessToken): AccessToken {
  return { id, name, role, createdAt, ...(expiresAt !== undefined && { expiresAt }) };
}

function isSame(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
}
