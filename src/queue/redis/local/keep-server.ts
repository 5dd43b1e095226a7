import type { Redis } from "ioredis";
import { joinServer, type LocalRedisPaths } from "./paths.ts";
import { withLock } from "./socket.ts";

/** A server that this process started. */
export interface OwnServer {
  end(): Promise<void>;
}

export interface KeptServer {
  /** A connection to it. */
  control: Redis;
  end(): Promise<void>;
}

/**
 * The server at this address: the one that runs, else a new one. It ends with the process that started it, even when
 * that crashes; another process that uses it then starts it again, with its data. The caller holds the folder's lock.
 */
export async function keepServer(
  { lock, log }: LocalRedisPaths,
  address: string,
  start: () => Promise<OwnServer & { control: Redis }>,
): Promise<KeptServer> {
  let own: OwnServer | undefined;
  const provide = async (): Promise<Redis> => {
    const joined = await joinServer(address, log);
    if (joined) return joined;
    const started = await start();
    own = started;
    return started.control;
  };

  const control = await provide();
  let reviving: Promise<void> | undefined;
  control.on("close", () => {
    if (control.status === "end") return;
    reviving ??= withLock(lock, async () => (await provide()).disconnect())
      .catch((error: unknown) => log.warn(String(error)))
      .finally(() => (reviving = undefined));
  });
  return {
    control,
    async end() {
      control.disconnect();
      await reviving;
      await own?.end();
    },
  };
}
