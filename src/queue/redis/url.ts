import { decodePercent } from "../../agent/text/url-passwords.ts";
import type { ClientOptions, Place, Target } from "./target.ts";
import { RedisUnavailable } from "./unavailable.ts";

/** What the URL does not say. */
export interface UrlSettings {
  /** Certificates (PEM) that TLS trusts instead of those of the system. */
  ca?: string;
  /** Of the sentinels themselves. */
  sentinelPassword?: string;
  /** Told of each command that a replica has refused, which is sent again until a primary takes it. */
  onReadonly?(): void;
}

const urlForms =
  "redis://user:password@host:6379/0, redis+cluster://host:6379,host:6379, redis+sentinel://host:26379,host:26379/name/0, each with rediss for TLS, or the path of a socket";

/** The parts of a URL for a server, a cluster or sentinels. */
interface UrlParts {
  encrypted: boolean;
  kind: keyof typeof forms;
  username: string;
  password: string;
  /** The first one, and the others. */
  places: [Place, ...Place[]];
  /** What sentinels call the server, as it was written. */
  name: string;
  database: number;
}

/**
 * Reads a REDIS_URL, and gives the place to show to people: the same without the password.
 * @throws {RedisUnavailable} without repeating the text, which may hold a password.
 */
export function parseRedisUrl(text: string, settings: UrlSettings = {}): { target: Target; place: string } {
  const socket = /^(?:unix:\/\/)?(\/.+)$/.exec(text)?.[1];
  if (socket) return { target: { options: { path: socket } }, place: socket };
  const parts = takeUrlApart(text);
  if (!parts) throw new RedisUnavailable(`REDIS_URL is not understood: expected ${urlForms}.`);
  const server = text.slice(0, text.indexOf(":"));
  const shown = parts.places.map(({ host, port }) => `${host.includes(":") ? `[${host}]` : host}:${port}`);
  const place = `${server}://${parts.username && `${parts.username}@`}${shown.join(",")}`;
  switch (parts.kind) {
    case "cluster":
      return { target: targetOf(parts, settings), place };
    case "sentinel":
      return { target: targetOf(parts, settings), place: `${place}/${parts.name}/${parts.database}` };
    case "server":
      return { target: targetOf(parts, settings), place: `${place}/${parts.database}` };
  }
}

const login = String.raw`(?:(?<login>[^@/]*)@)?`;

/** A server with its database; a cluster, which has one alone; and sentinels with the name of a server and its database. */
const forms = {
  server: new RegExp(String.raw`^rediss?://${login}(?<list>[^@/,]+)(?:/(?<database>\d*))?$`),
  cluster: new RegExp(String.raw`^rediss?\+cluster://${login}(?<list>[^@/]+)(?:/(?<database>0*))?$`),
  sentinel: new RegExp(
    String.raw`^rediss?\+sentinel://${login}(?<list>[^@/]+)/(?<name>[^/]+)(?:/(?<database>\d*))?$`,
  ),
} as const;

/** Undefined for what is none. */
function takeUrlApart(text: string): UrlParts | undefined {
  for (const kind of ["server", "cluster", "sentinel"] as const) {
    const found = forms[kind].exec(text)?.groups;
    if (found) return readParts(kind, text.startsWith("rediss"), found);
  }
  return undefined;
}

function readParts(
  kind: UrlParts["kind"],
  encrypted: boolean,
  found: Readonly<Record<string, string | undefined>>,
): UrlParts | undefined {
  const [first, ...others] = readPlaces(found["list"] ?? "", kind === "sentinel" ? 26_379 : 6_379);
  if (!first) return undefined;
  const [username = "", ...password] = (found["login"] ?? "").split(":");
  return {
    encrypted,
    kind,
    username: decodePercent(username),
    password: decodePercent(password.join(":")),
    places: [first, ...others],
    name: found["name"] ?? "",
    database: Number(found["database"] ?? 0),
  };
}

function targetOf(parts: UrlParts, { ca, sentinelPassword, onReadonly }: UrlSettings): Target {
  const { kind, username, password, places, encrypted, name } = parts;
  const tls = ca === undefined ? {} : { ca };
  const options: ClientOptions = {
    db: parts.database,
    ...(username && { username }),
    ...(password && { password }),
    ...(encrypted && { tls }),
    // The server that we write to has become a replica: find the new one, and send the command again.
    reconnectOnError(error) {
      if (!error.message.includes("READONLY")) return false;
      onReadonly?.();
      return 2;
    },
  };
  if (kind === "cluster") return { options, nodes: places };
  if (kind === "server") return { options: { ...options, ...places[0] } };
  return {
    options: {
      ...options,
      sentinels: places,
      name: decodePercent(name),
      ...(sentinelPassword && { sentinelPassword }),
      ...(encrypted && { enableTLSForSentinelMode: true, sentinelTLS: tls }),
    },
  };
}

/** None where one of them is none. */
function readPlaces(list: string, defaultPort: number): Place[] {
  const words = list.split(",");
  const places = words.flatMap((place) => readPlace(place, defaultPort));
  return places.length === words.length ? places : [];
}

function readPlace(text: string, defaultPort: number): Place[] {
  const [, address, name, port] = /^(?:\[([^\]]+)\]|([^:[\]\s]+))(?::(\d+))?$/.exec(text) ?? [];
  const host = address ?? name;
  return host === undefined ? [] : [{ host, port: port === undefined ? defaultPort : Number(port) }];
}
