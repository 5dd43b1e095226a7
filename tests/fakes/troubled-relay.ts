import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { listen } from "./listen.ts";

/**
 * What a connection may come to on its way to a server: an accept that nothing follows, an end in the middle, silence
 * from some byte on, or bytes that come one at a time.
 */
export type Trouble =
  | { kind: "none" }
  | { kind: "silent" }
  | { kind: "breaks"; afterBytes: number }
  | { kind: "stalls"; afterBytes: number }
  | { kind: "drips"; afterBytes: number; everyMs: number };

export interface TroubledRelay {
  port: number;
  /** Of connections from now on. */
  trouble: Trouble;
  /** Connections so far. */
  connections(): number;
  close(): Promise<void>;
}

/** Passes connections on to a port of this machine. */
export async function startTroubledRelay(to: number): Promise<TroubledRelay> {
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer((down) => {
    connections += 1;
    const { trouble } = relay;
    const up = connect(to, "127.0.0.1");
    for (const socket of [down, up]) {
      sockets.add(socket);
      socket.on("error", () => socket.destroy());
      socket.on("close", () => sockets.delete(socket));
    }
    down.on("close", () => up.destroy());
    if (trouble.kind === "silent") return void down.resume();
    down.pipe(up);
    if (trouble.kind === "none") return void up.pipe(down);
    passOn(up, down, trouble);
  });
  const relay: TroubledRelay = {
    port: await listen(server),
    trouble: { kind: "none" },
    connections: () => connections,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
  return relay;
}

function passOn(up: Socket, down: Socket, trouble: Exclude<Trouble, { kind: "none" | "silent" }>): void {
  let passed = 0;
  up.on("end", () => trouble.kind !== "stalls" && passed <= trouble.afterBytes && down.end());
  up.on("data", (chunk: Buffer) => {
    const whole = chunk.subarray(0, Math.max(0, trouble.afterBytes - passed));
    const rest = chunk.subarray(whole.length);
    passed += chunk.length;
    if (whole.length > 0) down.write(whole);
    if (rest.length === 0) return;
    if (trouble.kind === "breaks") return void down.destroy();
    up.pause();
    if (trouble.kind === "drips") drip(rest, up, down, trouble.everyMs);
  });
}

function drip(bytes: Buffer, up: Socket, down: Socket, everyMs: number): void {
  let at = 0;
  const timer = setInterval(() => {
    if (at < bytes.length) down.write(bytes.subarray(at, (at += 1)));
    else {
      clearInterval(timer);
      up.resume();
    }
  }, everyMs);
  down.on("close", () => clearInterval(timer));
}
