import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Redis } from "ioredis";
import { openControl } from "./control.ts";
import { type RedisLog, RedisUnavailable } from "./server.ts";

/** A large append-only file takes its time to load. */
const startPatienceMs = 60_000;

/** Names are relative to the data folder, which keeps the socket's address short. */
const settings = (socket: string) => ({
  port: "0",
  unixsocket: socket,
  unixsocketperm: "600",
  pidfile: "redis.pid",
  logfile: "redis.log",
  appendonly: "yes",
  appendfsync: "everysec",
  save: "",
  "maxmemory-policy": "noeviction",
});

/**
 * Starts `redis-server` or `valkey-server` with its data in `folder`, and returns a connection when it is ready.
 *
 * The server has a process group of its own, so that Ctrl-C does not end it while turns are being saved. It
 * outlives a crash of ours for the same reason; the next start finds it on its socket and takes it over.
 */
export async function startSystem(
  binary: string,
  folder: string,
  address: string,
  log: RedisLog,
): Promise<Redis> {
  const server = spawn(
    binary,
    Object.entries(settings(basename(address))).flatMap(([name, value]) => [`--${name}`, value]),
    // It needs none of our environment, which holds tokens.
    { cwd: folder, env: {}, stdio: "ignore", detached: true },
  );
  const gone = new AbortController();
  server.once("error", () => gone.abort()).once("exit", () => gone.abort());
  server.unref();

  const link = await openControl(
    { path: address },
    { patienceMs: startPatienceMs, signal: gone.signal, log },
  );
  if (link.ok) return link.control;
  server.kill();
  const words = (await lastWords(join(folder, "redis.log"))) ?? link.cause;
  throw new RedisUnavailable(
    `${binary} did not start in ${folder}: ${words}. Correct that, or set REDIS_URL.`,
  );
}

/** Ends the server behind `control` unless somebody else is connected to it, and disconnects. */
export async function endIfAlone(control: Redis): Promise<void> {
  control.options.retryStrategy = () => null;
  // A second look: the server may not have noticed yet that a client has gone.
  const alone = (await isAlone(control)) || (await delay(100), await isAlone(control));
  // The answer is the closed connection; the server has written everything before.
  if (alone) await control.shutdown().catch(() => undefined);
  // Disconnecting a second time would leave a timer behind.
  if (control.status !== "end") control.disconnect();
}

async function isAlone(control: Redis): Promise<boolean> {
  if (control.status !== "ready") return false;
  const clients = String(await control.client("LIST"));
  return clients.trimEnd().split("\n").length === 1;
}

/** The last line of the log without its prefix (`1234:M 01 Jan 2026 12:00:00.000 # `). */
async function lastWords(log: string): Promise<string | undefined> {
  const text = await readFile(log, "utf8").catch(() => "");
  return (
    text
      .trimEnd()
      .split("\n")
      .at(-1)
      ?.replace(/^.*? [.\-*#] /, "")
      .replace(/\.$/, "") || undefined
  );
}
