/** A Redis of its own for one test file, in a temporary folder, started by the same code as in production. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Redis } from "ioredis";
import { connectRedis } from "../../src/queue/redis/choose-server.ts";
import type { RedisServer } from "../../src/queue/redis/server.ts";

export interface TestRedis {
  /** The Unix socket; `new Redis(path)` connects to it. */
  path: string;
  server: RedisServer;
  /** A new connection, closed by {@link TestRedis.stop} at the latest. */
  client(): Redis;
  stop(): Promise<void>;
}

/** Starts the system's server, or the embedded one when there is none or `embedded` is set. */
export async function startRedis({ embedded = false }: { embedded?: boolean } = {}): Promise<TestRedis> {
  const folder = await mkdtemp(join(tmpdir(), "heddle-redis-"));
  const server = await connectRedis({
    dataDir: folder,

    ...(embedded && { searchPath: "" }),
    log: { info: () => undefined, warn: () => undefined },
  });
  return {
    path: join(folder, "redis", server.kind === "system" ? "redis.sock" : "embedded.sock"),
    server,
    client: () => server.connect({ maxRetriesPerRequest: null }),
    async stop() {
      await server.close();
      await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    },
  };
}
