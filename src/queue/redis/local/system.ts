import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Redis } from "ioredis";
import { connectWithRetry } from "../connect-with-retry.ts";
import { inspectServer } from "../inspect.ts";
import { type RedisServer, redisServer } from "../server.ts";
import { RedisUnavailable } from "../unavailable.ts";
import { joinServer, type LocalRedisPaths } from "./paths.ts";
import { withLock } from "./socket.ts";

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
 * The server of the system: the one that runs in this folder, else a new one. It ends with the process that
 * started it, even when that crashes; another process that uses it starts it again, with its data. The caller
 * holds the folder's lock.
 *
 * @param binary Absent: only a server that runs already will do.
 */
export async function useSystemServer(
  paths: LocalRedisPaths,
  binary: string | undefined,
): Promise<RedisServer> {
  const { lock, snapshot, system, log } = paths;
  let own: OwnServer | undefined;
  const provide = async (): Promise<Redis> => {
    const joined = await joinServer(system, log);
    if (joined) return joined;
    if (binary === undefined)
      throw new RedisUnavailable(`The server at ${system} has just ended: start again.`);
    own = await startServer(binary, paths);
    return own.control;
  };

  const control = await provide();
  let reviving: Promise<void> | undefined;
  control.on("close", () => {
    if (control.status === "end") return;
    reviving ??= withLock(lock, async () => (await provide()).disconnect())
      .catch((error: unknown) => log.warn(String(error)))
      .finally(() => (reviving = undefined));
  });

  const { name, warnings } = await inspectServer(control);
  if (existsSync(snapshot)) {
    warnings.push(
      `${snapshot} holds what the embedded Redis kept, and ${name} does not read it: remove it when you do not need it.`,
    );
  }
  return redisServer({
    kind: "system",
    describe: `${name} at ${system}`,
    warnings,
    target: { options: { path: system } },
    log,
    async end() {
      control.disconnect();
      await reviving;
      await own?.end();
    },
  });
}

interface OwnServer {
  control: Redis;
  end(): Promise<void>;
}

async function startServer(binary: string, { folder, system, log }: LocalRedisPaths): Promise<OwnServer> {
  const args = Object.entries(settings(basename(system))).flatMap(([name, value]) => [`--${name}`, value]);
  // It needs none of our environment, which holds tokens. Ctrl-C must not end it while turns are being saved,
  // so it has a process group of its own.
  const apart = { env: {}, detached: true } as const;
  const server = spawn(binary, args, { ...apart, cwd: folder, stdio: "ignore" });
  // The end of its input tells it that this process is gone, however it went.
  const watcher = spawn("/bin/sh", ["-c", 'read -r _; kill "$0"', String(server.pid)], {
    ...apart,
    stdio: ["pipe", "ignore", "ignore"],
  });
  const gone = new AbortController();
  const exited = new Promise<void>((resolve) => {
    const end = () => {
      watcher.kill();
      gone.abort();
      resolve();
    };
    server.once("error", end).once("exit", end);
  });
  for (const child of [server, watcher]) child.unref();

  const patience = { patienceMs: startPatienceMs, mayBeLate: true, signal: gone.signal, log };
  const link = await connectWithRetry({ options: { path: system } }, patience);
  if (!link.ok) {
    server.kill();
    const words = (await lastWords(join(folder, "redis.log"))) ?? link.cause;
    throw new RedisUnavailable(
      `${binary} did not start in ${folder}: ${words}. Correct that, or set REDIS_URL.`,
    );
  }
  return {
    control: link.control,
    async end() {
      // Else a process with nothing else to do would not wait.
      server.ref();
      server.kill();
      await exited;
    },
  };
}

/** The last line of the log without its prefix (`1234:M 01 Jan 2026 12:00:00.000 # `). */
async function lastWords(log: string): Promise<string | undefined> {
  const text = await readFile(log, "utf8").catch(() => "");
  const line = text.trimEnd().split("\n").at(-1) ?? "";
  return line.replace(/^.*? [.\-*#] /, "").replace(/\.$/, "") || undefined;
}
