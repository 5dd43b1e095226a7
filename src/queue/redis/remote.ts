import { openControl } from "./control.ts";
import { inspect } from "./inspect.ts";
import {
  type ClientOptions,
  type RedisLog,
  type RedisServer,
  RedisUnavailable,
  redisServer,
} from "./server.ts";

/** The Redis that REDIS_URL names. */
export async function connectRemote(url: string, patienceMs: number, log: RedisLog): Promise<RedisServer> {
  const { options, place } = parseRedisUrl(url);
  const link = await openControl(options, { patienceMs, mayBeLate: true, log });
  if (!link.ok) {
    throw new RedisUnavailable(
      `Redis at ${place} (REDIS_URL) is not usable: ${link.cause}. Start that server or correct REDIS_URL; without REDIS_URL Heddle starts a server itself.`,
    );
  }
  const { control } = link;
  const { name, cluster, warnings } = await inspect(control);
  if (cluster) {
    control.disconnect();
    throw new RedisUnavailable(
      `Redis at ${place} (REDIS_URL) runs in cluster mode, which Heddle does not support: name a single server or primary.`,
    );
  }
  return redisServer({
    kind: "url",
    describe: `${name} at ${place}`,
    warnings,
    options,
    end: async () => control.disconnect(),
  });
}

/**
 * The client options for a REDIS_URL, and the place to show to people: the same without the password.
 * @throws {RedisUnavailable} without repeating the text, which may hold a password.
 */
export function parseRedisUrl(text: string): { options: ClientOptions; place: string } {
  const parsed = URL.canParse(text) ? new URL(text) : undefined;
  const socket = text.startsWith("/") ? text : parsed?.protocol === "unix:" ? parsed.pathname : undefined;
  if (socket) return { options: { path: socket }, place: socket };

  const database = parsed?.pathname.replace(/^\//, "") ?? "";
  const encrypted = parsed?.protocol === "rediss:";
  if (
    !parsed ||
    !(encrypted || parsed.protocol === "redis:") ||
    !parsed.hostname ||
    !/^\d*$/.test(database)
  ) {
    throw new RedisUnavailable(
      "REDIS_URL is not understood: expected redis://user:password@host:6379/0, rediss:// for TLS, or the path of a socket.",
    );
  }
  const username = decode(parsed.username);
  const password = decode(parsed.password);
  const port = Number(parsed.port || 6379);
  return {
    options: {
      // Brackets belong to the URL, not to an IPv6 address.
      host: parsed.hostname.replace(/^\[|\]$/g, ""),
      port,
      db: Number(database),
      ...(username && { username }),
      ...(password && { password }),
      ...(encrypted && { tls: {} }),
    },
    place: `${parsed.protocol}//${username && `${username}@`}${parsed.hostname}:${port}/${database || 0}`,
  };
}

/** A password with a bare percent sign is taken as it stands. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
