import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { Redis } from "ioredis";

/** Whether this machine can run the suite: the embedded server cannot be killed apart from its process. */
export const hasRedisServer = spawnSync("redis-server", ["--version"]).status === 0;

/** Why not. */
export const noRedisServer = "redis-server is not on PATH: install it, as with apt-get install redis-server";

/** A Redis that can be killed and goes on with the same data. */
export interface RedisProcess {
  /** As in REDIS_URL. */
  readonly path: string;
  readonly client: Redis;
  /** SIGKILL, and a new server on the append-only file of the old one, or another one that has its data. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** @param folder an existing folder with a short name: the address of a socket has at most 108 bytes */
export async function startRedisProcess(folder: string): Promise<RedisProcess> {
  const path = join(folder, "redis.sock");
  let server = spawnServer(folder);
  const client = new Redis(path, { maxRetriesPerRequest: null, retryStrategy: () => 50 });
  client.on("error", () => undefined);
  await client.ping();
  return {
    path,
    client,
    async restart() {
      await kill(server);
      server = spawnServer(folder);
      await client.ping();
    },
    async stop() {
      client.disconnect();
      await kill(server);
    },
  };
}

/** The embedded server of a program with this data folder, which comes and goes with the program. */
export async function reachEmbedded(dataDir: string): Promise<RedisProcess> {
  const path = join(dataDir, "redis", "embedded.sock");
  const client = new Redis(path, { maxRetriesPerRequest: null, retryStrategy: () => 50, lazyConnect: true });
  client.on("error", () => undefined);
  return {
    path,
    client,
    restart: () => Promise.reject(new Error("It ends with its program alone.")),
    stop: async () => client.disconnect(),
  };
}

function spawnServer(folder: string): ChildProcess {
  const settings = [
    ...["--port", "0", "--unixsocket", "redis.sock", "--save", ""],
    // With `everysec` Redis may hold written data back for two seconds while the disk is slow, and a kill loses it.
    ...["--appendonly", "yes", "--appendfsync", "always"],
  ];
  return spawn("redis-server", settings, { cwd: folder, stdio: "ignore" });
}

async function kill(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  server.kill("SIGKILL");
  await once(server, "exit");
}
