import type { ClientOptions, Place, Target } from "./target.ts";
import { RedisUnavailable } from "./unavailable.ts";

/** What the URL does not say. */
export interface UrlSettings {
  /** Certificates (PEM) that TLS trusts instead of those of the system. */
  ca?: string;
  /** Of the sentinels themselves. */
  sentinelPassword?: string;
}

const urlForms =
  "redis://user:password@host:6379/0, redis+cluster://host:6379,host:6379, redis+sentinel://host:26379,host:26379/name/0, each with rediss for TLS, or the path of a socket";

/**
 * Reads a REDIS_URL, and gives the place to show to people: the same without the password.
 * @throws {RedisUnavailable} without repeating the text, which may hold a password.
 */
export function parseRedisUrl(text: string, settings: UrlSettings = {}): { target: Target; place: string } {
  const socket = /^(?:unix:\/\/)?(\/.+)$/.exec(text)?.[1];
  if (socket) return { target: { options: { path: socket } }, place: socket };

  const parts = /^(redis|rediss)(?:\+(cluster|sentinel))?:\/\/(?:([^@/]*)@)?([^@/]+)((?:\/[^/]*)*)$/.exec(
    text,
  );
  const [, protocol, kind, login = "", list = "", path = ""] = parts ?? [];
  const places = list.split(",").flatMap((place) => readPlace(place, kind === "sentinel" ? 26_379 : 6_379));
  const segments = path.split("/").slice(1);
  const name = kind === "sentinel" ? segments.shift() : undefined;
  const [database = "", ...more] = segments;
  const [first, ...others] = places;
  const isUnderstood =
    first &&
    places.length === list.split(",").length &&
    /^\d*$/.test(database) &&
    more.length === 0 &&
    (kind !== undefined || others.length === 0) &&
    (kind !== "sentinel" || name) &&
    (kind !== "cluster" || Number(database) === 0);
  if (!isUnderstood) throw new RedisUnavailable(`REDIS_URL is not understood: expected ${urlForms}.`);

  const [username = "", ...password] = login.split(":");
  const encrypted = protocol === "rediss";
  const tls = settings.ca === undefined ? {} : { ca: settings.ca };
  const options: ClientOptions = {
    db: Number(database),
    ...(username && { username: decode(username) }),
    ...(password.length > 0 && password[0] !== "" && { password: decode(password.join(":")) }),
    ...(encrypted && { tls }),
    // The server that we write to has become a replica: find the new one, and send the command again.
    reconnectOnError: (error) => (error.message.includes("READONLY") ? 2 : false),
  };
  const shown = places.map(({ host, port }) => `${host.includes(":") ? `[${host}]` : host}:${port}`);
  const place = `${text.slice(0, text.indexOf(":"))}://${username && `${decode(username)}@`}${shown.join(",")}`;
  switch (kind) {
    case "cluster":
      return { target: { options, nodes: places }, place };
    case "sentinel":
      return {
        target: {
          options: {
            ...options,
            sentinels: places,
            name: decode(name ?? ""),
            ...(settings.sentinelPassword && { sentinelPassword: settings.sentinelPassword }),
            ...(encrypted && { enableTLSForSentinelMode: true, sentinelTLS: tls }),
          },
        },
        place: `${place}/${name}/${options.db}`,
      };
    default:
      return { target: { options: { ...options, ...first } }, place: `${place}/${options.db}` };
  }
}

function readPlace(text: string, defaultPort: number): Place[] {
  const [, address, name, port] = /^(?:\[([^\]]+)\]|([^:[\]\s]+))(?::(\d+))?$/.exec(text) ?? [];
  const host = address ?? name;
  return host === undefined ? [] : [{ host, port: port === undefined ? defaultPort : Number(port) }];
}

/** A password with a bare percent sign is taken as it stands. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
