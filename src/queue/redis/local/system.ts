import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Redis } from "ioredis";
import { connectWithRetry } from "../connect-with-retry.ts";
import { inspectServer } from "../inspect.ts";
import { type RedisServer, redisServer } from "../server.ts";
import { RedisUnavailable } from "../unavailable.ts";
import { adoptEmbeddedFiles } from "./adopt.ts";
import { keepServer, type OwnServer } from "./keep-server.ts";
import type { LocalRedisPaths } from "./paths.ts";

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
 * The server of the system: the one that runs in this folder, else a new one. The caller holds the folder's lock.
 *
 * @param binary Absent: only a server that runs already will do.
 * @param adopts Whether what the embedded server kept is moved into it.
 */
export async function useSystemServer(
  paths: LocalRedisPaths,
  binary: string | undefined,
  adopts: boolean,
): Promise<RedisServer> {
  const { system } = paths;
  const kept = await keepServer(paths, system, () => {
    if (binary === undefined)
      throw new RedisUnavailable(`The server at ${system} has just ended: start again.`);
    return startServer(binary, paths);
  });
  const { name, warnings } = await inspectServer(kept.control);
  return redisServer({
    kind: "system",
    describe: `${name} at ${system}`,
    warnings: [...warnings, ...(await adoptEmbeddedFiles(paths, kept.control, { name, adopts }))],
    target: { options: { path: system } },
    log: paths.log,
    end: kept.end,
  });
}

async function startServer(
  binary: string,
  { folder, system, log }: LocalRedisPaths,
): Promise<OwnServer & { control: Redis }> {
  const args = Object.entries(settings(basename(system))).flatMap(([name, value]) => [`--${name}`, value]);
  // It needs none of our environment, which holds tokens. Ctrl-C must not end it while turns are being saved,
  // so it has a process group of its own.
  const apart = { env: {}, detached: true } as const;
  // It is a server by the name that it is called by.
  const argv0 = basename(binary).replace("check-rdb", "server");
  const server = spawn(binary, args, { ...apart, argv0, cwd: folder, stdio: "ignore" });
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
