import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Redis } from "ioredis";
import { connectWithRetry } from "../connect-with-retry.ts";
import type { RedisLog } from "../server.ts";
import { RedisUnavailable } from "../unavailable.ts";
import { isServed, socketAddress } from "./socket.ts";

/** The folder of the servers that run on this machine, and what lies in it. */
export interface LocalRedisPaths {
  folder: string;
  /** Addresses of sockets. */
  lock: string;
  system: string;
  embedded: string;
  /** The folder of the embedded server's files. */
  embeddedFiles: string;
  /** The file that the embedded server of an older Heddle wrote. */
  oldSnapshot: string;
  log: RedisLog;
}

/** @throws {RedisUnavailable} when the path is too long */
export async function prepareLocalRedisPaths(dataDir: string, log: RedisLog): Promise<LocalRedisPaths> {
  const folder = join(resolve(dataDir), "redis");
  // Users of a root bot's sandboxes walk through the data folder to their workspaces.
  await mkdir(resolve(dataDir), { recursive: true, mode: 0o711 });
  // Whoever can enter this one can talk to the server.
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return {
    folder,
    lock: socketAddress(folder, "lock"),
    system: socketAddress(folder, "redis.sock"),
    embedded: socketAddress(folder, "embedded.sock"),
    embeddedFiles: join(folder, "embedded"),
    oldSnapshot: join(folder, "embedded.ndjson"),
    log,
  };
}

/** Whether a server runs for this data folder. Creates nothing. */
export async function isLocalServed(dataDir: string): Promise<boolean> {
  const folder = join(resolve(dataDir), "redis");
  const sockets = ["redis.sock", "embedded.sock"].map((name) => isServed(socketAddress(folder, name)));
  return (await Promise.all(sockets)).includes(true);
}

/**
 * A connection to the server that runs on this socket; undefined when there is none.
 * @throws {RedisUnavailable} when it does not answer
 */
export async function joinServer(address: string, log: RedisLog): Promise<Redis | undefined> {
  if (!(await isServed(address))) return undefined;
  const link = await connectWithRetry(
    { options: { path: address } },
    { patienceMs: 10_000, mayBeLate: false, log },
  );
  if (link.ok) return link.control;
  // One that is being ended still takes connections.
  if (!(await isServed(address))) return undefined;
  throw new RedisUnavailable(
    `The server at ${address} does not answer (${link.cause}): end that process and start again.`,
  );
}
