import { access, constants } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { explainUnusableFolder } from "../../../agent/file-problems.ts";
import { hasErrorCode } from "../../../sandbox/system-error.ts";
import { connectWithRetry } from "../connect-with-retry.ts";
import { type RedisLog, type RedisServer, redisServer } from "../server.ts";
import { RedisUnavailable } from "../unavailable.ts";
import { keepServer } from "./keep-server.ts";
import { type LocalRedisPaths, prepareLocalRedisPaths } from "./paths.ts";
import { isServed, withLock } from "./socket.ts";
import { useSystemServer } from "./system.ts";

interface LocalSettings {
  dataDir: string;
  searchPath: string;
  /** See `RedisSettings`. */
  adopts: boolean;
  log: RedisLog;
}

/** A server of this installation: the one that runs already, else one of the system, else the embedded one. */
export async function connectLocal(settings: LocalSettings): Promise<RedisServer> {
  try {
    return await connectIn(settings);
  } catch (error) {
    if (!hasErrorCode(error, ...notWritable) && !isRefusedFolder(error)) throw error;
    throw new RedisUnavailable(explainUnusableFolder(settings.dataDir, error));
  }
}

const notWritable = ["EACCES", "EPERM", "EROFS", "ENOSPC", "ENOTDIR", "EEXIST"];

/** Of a new folder on a disk that is read-only, Node says that it is not there. */
function isRefusedFolder(error: unknown): boolean {
  return hasErrorCode(error, "ENOENT") && "syscall" in error && error.syscall === "mkdir";
}

async function connectIn(settings: LocalSettings): Promise<RedisServer> {
  const paths = await prepareLocalRedisPaths(settings.dataDir, settings.log);
  // Two servers on one folder would write the same files.
  return await withLock(paths.lock, async () => {
    if (await isServed(paths.embedded)) return await useEmbedded(paths);
    const binary = await findOnPath(serverPrograms, settings.searchPath);
    if (binary !== undefined || (await isServed(paths.system)))
      return await useSystemServer(paths, binary, settings.adopts);
    return await useEmbedded(paths);
  });
}

/** The server's program, and the other name that Debian's packages without a service have for the same file. */
const serverPrograms = ["valkey-server", "redis-server", "valkey-check-rdb", "redis-check-rdb"];

/** What it does not promise, for everybody who reads a warning. */
const embeddedLimits =
  "The embedded Redis is the last resort: a crash of Heddle loses nothing that it answered, a power loss up to a second, and it serves this one machine only. `apt install valkey-server` (or redis-server), `brew install valkey`, `docker compose up` or REDIS_URL give a real one.";

async function useEmbedded(paths: LocalRedisPaths): Promise<RedisServer> {
  const { embedded, log } = paths;
  const kept = await keepServer(paths, embedded, async () => {
    // Loaded only where it is used.
    const { startEmbedded } = await import("./embedded/run-thread.ts");
    const server = await startEmbedded(paths);
    const link = await connectWithRetry(
      { options: { path: embedded } },
      { patienceMs: 10_000, mayBeLate: false, log },
    );
    if (link.ok) return { control: link.control, end: () => server.close() };
    await server.close();
    throw new RedisUnavailable(`The embedded Redis at ${embedded} does not answer: ${link.cause}.`);
  });
  return redisServer({
    kind: "embedded",
    describe: `embedded, at ${embedded}`,
    warnings: [embeddedLimits],
    target: { options: { path: embedded } },
    log,
    end: kept.end,
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
