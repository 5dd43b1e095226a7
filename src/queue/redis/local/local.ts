import { access, constants } from "node:fs/promises";
import { delimiter, join } from "node:path";
import type { Redis } from "ioredis";
import { hasErrorCode } from "../../../sandbox/system-error.ts";
import { type RedisLog, type RedisServer, redisServer } from "../server.ts";
import { RedisUnavailable } from "../unavailable.ts";
import { joinServer, type LocalRedisPaths, prepareLocalRedisPaths } from "./paths.ts";
import { isServed, withLock } from "./socket.ts";
import { useSystemServer } from "./system.ts";

interface LocalSettings {
  dataDir: string;
  production: boolean;
  allowEmbedded: boolean;
  searchPath: string;
  log: RedisLog;
}

/** A server of this installation: the one that runs already, else one of the system, else the embedded one. */
export async function connectLocal(settings: LocalSettings): Promise<RedisServer> {
  try {
    return await connectIn(settings);
  } catch (error) {
    if (!hasErrorCode(error, ...notWritable)) throw error;
    throw new RedisUnavailable(
      `The data folder ${settings.dataDir} cannot be used (${error.message}): make it writable for the user that runs Heddle, or set HEDDLE_DATA_DIR to a folder that is.`,
    );
  }
}

const notWritable = ["EACCES", "EPERM", "EROFS", "ENOSPC", "ENOTDIR", "EEXIST"];

async function connectIn(settings: LocalSettings): Promise<RedisServer> {
  const paths = await prepareLocalRedisPaths(settings.dataDir, settings.log);
  // Two servers on one folder would write the same files.
  return await withLock(paths.lock, async () => {
    const control = await joinServer(paths.embedded, paths.log);
    if (control) return joinEmbedded(paths, control);
    const binary = await findOnPath(["valkey-server", "redis-server"], settings.searchPath);
    if (binary !== undefined || (await isServed(paths.system))) return await useSystemServer(paths, binary);
    if (!settings.production || settings.allowEmbedded) return await runEmbedded(paths);
    throw new RedisUnavailable(
      "There is no Redis: REDIS_URL is not set, and neither valkey-server nor redis-server is on PATH. Install one (`apt install valkey-server`, `apt install redis-server`, `brew install valkey`) or set REDIS_URL; EMBEDDED_REDIS=1 allows the embedded one for a demonstration.",
    );
  });
}

async function runEmbedded({ embedded, snapshot, log }: LocalRedisPaths): Promise<RedisServer> {
  // Loaded only where it is used: it brings a Lua interpreter.
  const { startEmbedded, snapshotEveryMs } = await import("./embedded.ts");
  const server = await startEmbedded(embedded, snapshot, log);
  return redisServer({
    kind: "embedded",
    describe: `embedded, for development only, at ${embedded}`,
    warnings: [
      `The embedded Redis is for development: it keeps everything in memory, and on disk only what is older than ${snapshotEveryMs / 1_000} s. For a team: \`apt install valkey-server\`, \`brew install valkey\`, \`docker compose up\` or REDIS_URL.`,
    ],
    target: { options: { path: embedded } },
    log,
    end: () => server.close(),
  });
}

/** The embedded server lives in another process and ends with it. */
function joinEmbedded({ embedded, log }: LocalRedisPaths, control: Redis): RedisServer {
  return redisServer({
    kind: "embedded",
    describe: `embedded, in another process, at ${embedded}`,
    warnings: [],
    target: { options: { path: embedded } },
    log,
    end: async () => control.disconnect(),
  });
}

async function findOnPath(names: readonly string[], searchPath: string): Promise<string | undefined> {
  for (const name of names) {
    for (const folder of searchPath.split(delimiter).filter(Boolean)) {
      const file = join(folder, name);
      const found = await access(file, constants.X_OK).then(
        () => true,
        () => false,
      );
      if (found) return file;
    }
  }
  return undefined;
}
