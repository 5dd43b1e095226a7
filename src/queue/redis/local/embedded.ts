import { once } from "node:events";
import { chmod, rm } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import {
  attachSession,
  createRedisCommandExecutor,
  RedisServerState,
  resolveCompatibilityProfile,
  SocketConnectionTransport,
} from "js-redis-server/core";
import type { RedisLog } from "../server.ts";
import { loadSnapshot, saveSnapshot } from "./snapshot.ts";

/** What a crash may lose. */
export const snapshotEveryMs = 3_000;

export interface EmbeddedServer {
  /** Ends every connection and writes the last snapshot. */
  close(): Promise<void>;
}

/**
 * A Redis inside this process, on a Unix socket that only this user can open. Its own start functions listen on
 * all interfaces without a password, so this builds on its core. The caller holds the folder's lock.
 */
export async function startEmbedded(
  address: string,
  snapshot: string,
  log: RedisLog,
): Promise<EmbeddedServer> {
  const compatibility = resolveCompatibilityProfile("valkey-8.0");
  const state = new RedisServerState({ databaseCount: 1, compatibility });
  const database = state.getDatabase(0);
  await loadSnapshot(database, snapshot);

  let changed = false;
  const executor = createRedisCommandExecutor({
    compatibility,
    // Listening to the database's own events would copy every written value.
    policies: [
      {
        name: "note-changes",
        afterExecute(plan, _context, result) {
          changed ||= plan.flags.includes("write");
          return result;
        },
      },
    ],
  });

  const sockets = new Set<Socket>();
  const logger = { error: (problem: unknown) => log.warn(`The embedded Redis: ${String(problem)}`) };
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

  let saving = Promise.resolve();
  const save = () => {
    if (!changed) return saving;
    changed = false;
    saving = saving
      .then(() => saveSnapshot(database, snapshot))
      .catch((error: unknown) => {
        changed = true;
        log.warn(`The embedded Redis cannot write ${snapshot}: ${String(error)}`);
      });
    return saving;
  };
  const timer = setInterval(() => void save(), snapshotEveryMs);

  return {
    async close() {
      clearInterval(timer);
      server.close();
      for (const socket of sockets) socket.destroy();
      await save();
      state.close();
    },
  };
}
