import { once } from "node:events";
import { rm } from "node:fs/promises";
import { createConnection, createServer, type Socket } from "node:net";
import { join, relative } from "node:path";
import { hasErrorCode } from "../../../sandbox/system-error.ts";
import { RedisUnavailable } from "../unavailable.ts";

/** Size of `sun_path` with its final zero byte: 108 bytes on Linux, 104 on macOS and the BSDs. */
const addressBytes = process.platform === "linux" ? 108 : 104;

/**
 * The address of a Unix socket in `folder`: absolute, or relative to the working folder when that is too long.
 * @throws {RedisUnavailable} when both are too long.
 */
export function socketAddress(folder: string, name: string): string {
  const absolute = join(folder, name);
  const address = [absolute, relative(process.cwd(), absolute)].find(
    (path) => Buffer.byteLength(path) < addressBytes,
  );
  if (address !== undefined) return address;
  throw new RedisUnavailable(
    `The path ${absolute} is too long for a socket: set HEDDLE_DATA_DIR to a path of less than ${addressBytes} bytes.`,
  );
}

/** Whether a process listens there. The file alone says nothing: it outlives its process. */
export async function isServed(address: string): Promise<boolean> {
  const socket = await reach(address);
  if (typeof socket === "string") return false;
  socket.destroy();
  return true;
}

/**
 * Does the work when no other process holds the lock. The lock is a listening socket: the kernel releases it
 * when its holder dies, and those who wait are told by their closing connection.
 */
export async function withLock<T>(address: string, work: () => Promise<T>): Promise<T> {
  const release = await hold(address);
  try {
    return await work();
  } finally {
    release();
  }
}

async function hold(address: string): Promise<() => void> {
  for (;;) {
    const waiting = new Set<Socket>();
    const server = createServer((socket) => {
      waiting.add(socket);
      socket.on("error", () => undefined).once("close", () => waiting.delete(socket));
    });
    try {
      server.listen(address);
      await once(server, "listening");
      return () => {
        server.close();
        for (const socket of waiting) socket.destroy();
      };
    } catch (error) {
      if (!hasErrorCode(error, "EADDRINUSE")) throw error;
    }
    const holder = await reach(address);
    // Not atomic: after a crash during a start, two starts within the same millisecond could both get past this.
    if (holder === "dead") await rm(address, { force: true });
    else if (holder !== "absent") await waitForClose(holder);
  }
}

/** `dead`: a file without a process behind it. */
async function reach(address: string): Promise<Socket | "absent" | "dead"> {
  const socket = createConnection(address);
  try {
    await once(socket, "connect");
    return socket;
  } catch (error) {
    // Reset: closed before it accepted us.
    if (hasErrorCode(error, "ENOENT", "ECONNRESET")) return "absent";
    if (hasErrorCode(error, "ECONNREFUSED")) return "dead";
    throw error;
  }
}

/** Not `once`, which fails with the error that may come before. */
function waitForClose(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.on("error", () => undefined).once("close", () => resolve());
  });
}
