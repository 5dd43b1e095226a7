import type { Redis } from "ioredis";
import { RedisUnavailable } from "./unavailable.ts";

export interface Inspection {
  /** Such as `Redis 7.0.15`. */
  name: string;
  /** Cluster mode, which a plain client cannot work with. */
  cluster: boolean;
  /** It follows a primary, and takes no writes. */
  isReplica: boolean;
  /** One sentence each, with the way out. */
  warnings: string[];
}

/** Oldest version with the commands that BullMQ uses. */
const oldest = [6, 2] as const;

/** What the server says about its files, and what they are. */
const lastWrites = [
  ["aof_last_write_status", "its append-only file"],
  ["rdb_last_bgsave_status", "its snapshot"],
] as const;

/**
 * Reads what the server says of itself. CONFIG is not asked: managed services forbid it.
 *
 * @throws RedisUnavailable for a version that is too old; the client is disconnected then
 */
export async function inspectServer(client: Redis): Promise<Inspection> {
  let info: string;
  try {
    info = await client.info();
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error);
    const unchecked = `Redis refuses INFO (${words}), so its version, eviction policy and persistence are unchecked.`;
    return { name: "Redis of unknown version", cluster: false, isReplica: false, warnings: [unchecked] };
  }
  const facts = new Map(
    [...info.matchAll(/^(\w+):(.*?)\r?$/gm)].map(([, key = "", value = ""]) => [key, value]),
  );
  const tooOld = judgeVersion(facts);
  if (tooOld === undefined) return judge(facts);
  client.disconnect();
  throw new RedisUnavailable(tooOld);
}

/** How far the server's clock is ahead of ours, in milliseconds, give or take half the way there and back. */
export async function measureClockAheadMs(client: Redis, now: () => number): Promise<number> {
  const asked = now();
  const [seconds = 0, microseconds = 0] = (await client.time()).map(Number);
  return seconds * 1_000 + microseconds / 1_000 - (asked + now()) / 2;
}

function nameServer(info: ReadonlyMap<string, string>): string {
  const valkey = info.get("valkey_version");
  return valkey === undefined ? `Redis ${info.get("redis_version")}` : `Valkey ${valkey}`;
}

/** Why this version cannot be used; undefined where it can, or is not told. */
function judgeVersion(info: ReadonlyMap<string, string>): string | undefined {
  const version = info.get("redis_version");
  if (version === undefined) return undefined;
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const isOld = major < oldest[0] || (major === oldest[0] && minor < oldest[1]);
  if (!isOld) return undefined;
  return `${nameServer(info)} is older than ${oldest.join(".")}, which Heddle needs: upgrade it, or name another server in REDIS_URL.`;
}

function judge(info: ReadonlyMap<string, string>): Inspection {
  const name = nameServer(info);
  const warnings: string[] = [];
  const policy = info.get("maxmemory_policy");
  if (policy !== undefined && policy !== "noeviction") {
    warnings.push(
      `${name} may throw away messages and sessions when its memory is full (maxmemory-policy ${policy}): set maxmemory-policy noeviction.`,
    );
  }
  if (info.get("aof_enabled") === "0") {
    warnings.push(
      `${name} keeps no append-only file, so a crash loses what it accepted last: set appendonly yes and appendfsync everysec.`,
    );
  }
  for (const [field, what] of lastWrites) {
    if ((info.get(field) ?? "ok") !== "ok") {
      warnings.push(
        `${name} could not write ${what} the last time (${field}): look at its log and at its disk.`,
      );
    }
  }
  const isReplica = info.get("role") === "slave" && info.get("slave_read_only") !== "0";
  return { name, cluster: info.get("redis_mode") === "cluster", isReplica, warnings };
}
