import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, mkdir, rename, rm } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import {
  attachSession,
  RedisServerState,
  resolveCompatibilityProfile,
  SocketConnectionTransport,
} from "js-redis-server/core";
import { bytes, dataOf } from "./effects.ts";
import { createRecordingExecutor } from "./executor.ts";
import { baseBytes, listFiles, readStore, removeReplaced, writeBase } from "./files.ts";
import { type Log, openLog } from "./log.ts";
import { readOldSnapshot } from "./old-snapshot.ts";

/** What a power loss may take. */
const syncEveryMs = 1_000;

export interface EmbeddedOptions {
  /** Of the Unix socket. */
  address: string;
  /** Of its files. */
  folder: string;
  /** What an older Heddle kept, a file. */
  oldSnapshot: string;
  /** A log of this size is replaced, unless what it holds is larger. */
  rewriteBytes: number;
  /** Makes one file of those before the given log. */
  compact(log: number): Promise<void>;
  warn(text: string): void;
}

export interface EmbeddedServer {
  /** Ends every connection, and syncs the last writes. */
  close(): Promise<void>;
}

/**
 * A Redis on a Unix socket that only this user can open; see record.ts for what it promises. The package's own start
 * functions listen on all interfaces without a password, so this builds on its core. The caller holds the folder's lock.
 */
export async function serveEmbedded(options: EmbeddedOptions): Promise<EmbeddedServer> {
  const { address, folder, warn } = options;
  const compatibility = resolveCompatibilityProfile("valkey-8.0");
  const state = new RedisServerState({ databaseCount: 1, compatibility });
  const end = await restore(state, options);
  const log = openLog(folder, end);
  const executor = createRecordingExecutor(state, log);

  const sockets = new Set<Socket>();
  const logger = { error: (problem: unknown) => warn(`The embedded Redis: ${String(problem)}`) };
  const server = createServer((socket) => {
    sockets.add(socket);
    const { session } = attachSession(new SocketConnectionTransport(socket), { state, executor, logger });
    socket.once("close", () => {
      sockets.delete(socket);
      // A client that was waiting in a blocking command would be listed as connected until its time is over.
      session.close();
    });
  });
  await rm(address, { force: true });
  server.listen(address);
  await once(server, "listening");
  await chmod(address, 0o600);

  const ending = new AbortController();
  const upkeep = keepUp(log, options, ending.signal);
  return {
    async close() {
      server.close();
      for (const socket of sockets) socket.destroy();
      ending.abort();
      await upkeep;
      log.close();
      state.close();
    },
  };
}

/** Fills the database from the files; returns where the last log goes on. */
async function restore(
  state: RedisServerState,
  { folder, oldSnapshot, warn }: EmbeddedOptions,
): Promise<number> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if (existsSync(oldSnapshot)) {
    // Without a log, an earlier start was interrupted here.
    if (listFiles(folder).logs.length === 0) {
      writeBase(folder, 1, await readOldSnapshot(oldSnapshot));
      await rename(oldSnapshot, `${oldSnapshot}.taken-over`);
    } else {
      warn(
        `${oldSnapshot} is from an older Heddle that has run here since: it is not read, as ${folder} holds more. Move it away.`,
      );
    }
  }
  removeReplaced(folder);
  const { store, end, torn } = readStore(folder);
  if (torn > 0)
    warn(
      `The embedded Redis drops ${torn} bytes that were being written when it ended: nobody had an answer.`,
    );
  const now = Date.now();
  const database = state.getDatabase(0);
  for (const [key, stored] of store) {
    // Its copy is in the database from here on.
    store.delete(key);
    const { expiresAt } = stored;
    if (expiresAt !== undefined && expiresAt <= now) continue;
    database.set(bytes(key), dataOf(stored), { ...(expiresAt !== undefined && { expiresAt }) });
  }
  return end;
}

/** Syncs the log, and replaces it when it has grown. */
async function keepUp(
  log: Log,
  { folder, rewriteBytes, compact, warn }: EmbeddedOptions,
  signal: AbortSignal,
): Promise<void> {
  let compacting: Promise<void> | undefined;
  let failed = "";
  const shorten = async () => {
    await compact(log.rotate());
    removeReplaced(folder);
  };
  while (!signal.aborted) {
    await delay(syncEveryMs, undefined, { signal }).catch(() => undefined);
    await log.sync();
    const failure = log.failure() ?? "";
    if (failure !== failed && failure) warn(`The embedded Redis cannot write its files: ${failure}.`);
    failed = failure;
    if (failure || compacting || signal.aborted || log.bytes() < Math.max(rewriteBytes, baseBytes(folder)))
      continue;
    compacting = shorten()
      .catch((error: unknown) => warn(`The embedded Redis cannot shorten its files: ${String(error)}.`))
      .finally(() => (compacting = undefined));
  }
  await compacting;
}
