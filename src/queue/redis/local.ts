import { existsSync } from "node:fs";
import { access, constants, mkdir } from "node:fs/promises";
import { delimiter, join, resolve } from "node:path";
import type { Redis } from "ioredis";
import { openControl } from "./control.ts";
import { inspect } from "./inspect.ts";
import { type RedisLog, type RedisServer, RedisUnavailable, redisServer } from "./server.ts";
import { isServed, socketAddress, withLock } from "./socket.ts";
import { endIfAlone, startSystem } from "./system.ts";

interface LocalSettings {
  dataDir: string;
  production: boolean;
  allowEmbedded: boolean;
  searchPath: string;
  log: RedisLog;
}

/** The folder and what is in it: addresses of sockets, and the file of the embedded server. */
interface Site {
  folder: string;
  lock: string;
  system: string;
  embedded: string;
  snapshot: string;
  log: RedisLog;
}

/** A server of this installation: the one that runs already, else one of the system, else the embedded one. */
export async function connectLocal(settings: LocalSettings): Promise<RedisServer> {
  const folder = join(resolve(settings.dataDir), "redis");
  // Whoever can enter the folder can talk to the server.
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const site: Site = {
    folder,
    lock: socketAddress(folder, "lock"),
    system: socketAddress(folder, "redis.sock"),
    embedded: socketAddress(folder, "embedded.sock"),
    snapshot: join(folder, "embedded.ndjson"),
    log: settings.log,
  };
  // Two servers on one folder would write the same files.
  return await withLock(site.lock, async () => {
    if (await isServed(site.embedded)) return await joinEmbedded(site);
    const binary = await findOnPath(["valkey-server", "redis-server"], settings.searchPath);
    if (binary !== undefined || (await isServed(site.system))) return await useSystem(site, binary);
    if (!settings.production || settings.allowEmbedded) return await runEmbedded(site);
    throw new RedisUnavailable(
      "There is no Redis: REDIS_URL is not set, and neither valkey-server nor redis-server is on PATH. Install one (`apt install valkey-server`, `apt install redis-server`, `brew install valkey`) or set REDIS_URL; EMBEDDED_REDIS=1 allows the embedded one for a demonstration.",
    );
  });
}

async function useSystem(site: Site, binary: string | undefined): Promise<RedisServer> {
  const { folder, lock, system, snapshot, log } = site;
  const control =
    binary === undefined || (await isServed(system))
      ? await joinServer(system, log)
      : await startSystem(binary, folder, system, log);
  if (binary !== undefined) reviveWhenLost(control, site, binary);

  const { name, warnings } = await inspect(control);
  if (existsSync(snapshot)) {
    warnings.push(
      `${snapshot} holds what the embedded Redis kept, and ${name} does not read it: remove it when you do not need it.`,
    );
  }
  return redisServer({
    kind: "system",
    describe: `${name} at ${system}`,
    warnings,
    options: { path: system },
    end: () => withLock(lock, () => endIfAlone(control)),
  });
}

/** A server that was killed is started again, by one of the processes that use it. */
function reviveWhenLost(control: Redis, { folder, lock, system, log }: Site, binary: string): void {
  let reviving = false;
  const revive = () =>
    withLock(lock, async () => {
      if (await isServed(system)) return;
      (await startSystem(binary, folder, system, log)).disconnect();
    });
  control.on("close", () => {
    if (reviving || control.status === "end") return;
    reviving = true;
    revive()
      .catch((error: unknown) => log.warn(String(error)))
      .finally(() => (reviving = false));
  });
}

async function runEmbedded({ embedded, snapshot, log }: Site): Promise<RedisServer> {
  // Loaded only where it is used: it brings a Lua interpreter.
  const { startEmbedded, snapshotEveryMs } = await import("./embedded.ts");
  const server = await startEmbedded(embedded, snapshot, log);
  return redisServer({
    kind: "embedded",
    describe: `embedded, for development only, at ${embedded}`,
    warnings: [
      `The embedded Redis is for development: it keeps everything in memory, and on disk only what is older than ${snapshotEveryMs / 1_000} s. For a team: \`apt install valkey-server\`, \`brew install valkey\`, \`docker compose up\` or REDIS_URL.`,
    ],
    options: { path: embedded },
    end: () => server.close(),
  });
}

/** The embedded server lives in another process and ends with it. */
async function joinEmbedded({ embedded, log }: Site): Promise<RedisServer> {
  const control = await joinServer(embedded, log);
  return redisServer({
    kind: "embedded",
    describe: `embedded, in another process, at ${embedded}`,
    warnings: [],
    options: { path: embedded },
    end: async () => control.disconnect(),
  });
}

async function joinServer(address: string, log: RedisLog): Promise<Redis> {
  const link = await openControl({ path: address }, { patienceMs: 10_000, log });
  if (link.ok) return link.control;
  throw new RedisUnavailable(
    `The server at ${address} does not answer (${link.cause}): end that process and start again.`,
  );
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
