import { readFile } from "node:fs/promises";
import { connectWithRetry, isLoading, noPrimary } from "./connect-with-retry.ts";
import { inspectServer } from "./inspect.ts";
import { followPrimaries } from "./primaries.ts";
import { createRareSentences } from "./rare-sentences.ts";
import { type RedisLog, type RedisServer, redisServer } from "./server.ts";
import type { SilenceLimits } from "./silence.ts";
import { RedisUnavailable } from "./unavailable.ts";
import { parseRedisUrl } from "./url.ts";

export interface RemoteSettings {
  url: string;
  /** A file with the certificates (PEM) that TLS trusts. */
  caFile?: string;
  sentinelPassword?: string;
  patienceMs: number;
  limits?: SilenceLimits;
  log: RedisLog;
}

/** A server that is only late listens by then, ms; one that comes later is for whoever restarts us. */
const refusedMs = 2_000;

/** The Redis that REDIS_URL names. */
export async function connectRemote(settings: RemoteSettings): Promise<RedisServer> {
  const { url, caFile, sentinelPassword, patienceMs, limits, log } = settings;
  const isDue = createRareSentences();
  const { target, place } = parseRedisUrl(url, {
    ...(caFile && { ca: await readCertificates(caFile) }),
    ...(sentinelPassword && { sentinelPassword }),
    onReadonly() {
      const sentence = `Redis takes no writes, since it is a replica: what was asked of it is asked again until it is a primary. ${replicaRemedy}`;
      if (isDue(sentence)) log.warn(sentence);
    },
  });
  // Sentinels and clusters need longer to agree on another primary than a server to begin to listen.
  const isSingle = !target.nodes && !target.options.sentinels;
  const explainCause = (cause: string) => `${inPlainWords(cause)}. ${remedy(cause)}`;
  const patience = { patienceMs, mayBeLate: true, explainCause, log, ...(isSingle && { refusedMs }) };
  const link = await connectWithRetry(target, patience);
  if (!link.ok) {
    throw new RedisUnavailable(`Redis at ${place} (REDIS_URL) is not usable: ${explainCause(link.cause)}`);
  }
  const { control } = link;
  const { name, cluster, isReplica, warnings } = await inspectServer(control);
  if (cluster && !target.nodes) {
    control.disconnect();
    throw new RedisUnavailable(
      `Redis at ${place} (REDIS_URL) is a node of a cluster: write redis+cluster:// (rediss+cluster:// with TLS) and name some of its nodes.`,
    );
  }
  if (isReplica && !cluster) {
    control.disconnect();
    throw new RedisUnavailable(
      `Redis at ${place} (REDIS_URL) is a replica and takes no writes. ${replicaRemedy}`,
    );
  }
  const primaries = target.nodes && followPrimaries(control, log);
  return redisServer({
    kind: "url",
    describe: `${name} at ${place}`,
    warnings,
    target,
    log,
    ...(limits && { limits }),
    ...(primaries && { hasPrimary: primaries.isThere }),
    async end() {
      primaries?.end();
      control.disconnect();
    },
  });
}

async function readCertificates(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error);
    throw new RedisUnavailable(`REDIS_CA names ${file}, which cannot be read (${words}): correct it.`);
  }
}

/** What the server says about logins is a page about its protocol, or names its own settings. */
function inPlainWords(cause: string): string {
  return cause
    .replace(/NOAUTH[^]*/, "it wants a password")
    .replace(/WRONGPASS[^]*/, "it does not know this user with this password")
    .replace(/(?:ERR )?AUTH <?\w*>? ?called[^]*/, "it has no password, and REDIS_URL gives one");
}

const replicaRemedy = "Make it a primary, or name the primary or its sentinels in REDIS_URL.";

/** What to do, from what the server or the connection said. */
function remedy(cause: string): string {
  if (cause.includes("NOAUTH")) {
    return "Put it into REDIS_URL (redis://:password@host:6379, or user:password; REDIS_SENTINEL_PASSWORD for sentinels).";
  }
  if (/WRONGPASS|AUTH .*called|NOPERM/.test(cause)) {
    return "Put the right user and password into REDIS_URL (REDIS_SENTINEL_PASSWORD for sentinels).";
  }
  if (/certificate|altnames/i.test(cause)) {
    return "Name the file with the certificate of its authority in REDIS_CA, and its host as the certificate does.";
  }
  if (cause.includes("No such master")) {
    return "Correct the name that follows the sentinels in REDIS_URL.";
  }
  if (cause.includes("cluster support disabled")) {
    return "It is no cluster: write redis:// instead of redis+cluster:// in REDIS_URL.";
  }
  if (isLoading(cause)) return "Wait until it has loaded its data, and start Heddle again.";
  if (cause === noPrimary) {
    return "Look at its nodes (redis-cli cluster nodes) and bring the primaries back.";
  }
  return "Start that server or correct REDIS_URL; without REDIS_URL Heddle starts a server itself.";
}
