import type { IncomingMessage } from "node:http";
import type { PushCommand } from "./repository.ts";

/**
 * Reads what a push is to change: the pkt-lines at the beginning of the body of `POST …/git-receive-pack`
 * (gitprotocol-pack(5), "Reference Update Request"). Whatever is not exactly known is refused.
 */

/** More than a push with one ref ever takes. */
const mostBytes = 16_384;

export type ReadCommands = { ok: true; commands: PushCommand[] } | { ok: false; reason: string };

/** Reads the commands of a request and puts all bytes back, so that the request can be sent on as it came. */
export async function readPushCommands(incoming: IncomingMessage): Promise<ReadCommands> {
  const encoding = incoming.headers["content-encoding"] ?? "identity";
  if (encoding !== "identity") return refuse("the push is compressed as a whole");
  let read = Buffer.alloc(0);
  for (;;) {
    const parsed = parseCommands(read);
    if (parsed !== "more") {
      if (read.length > 0) incoming.unshift(read);
      return parsed;
    }
    if (read.length > mostBytes) return refuse("the push changes too many refs at once");
    const chunk = await readChunk(incoming);
    if (!chunk) return refuse("the push has ended before it said what it changes");
    read = Buffer.concat([read, chunk]);
  }
}

function readChunk(incoming: IncomingMessage): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const settle = (chunk?: Buffer) => {
      for (const name of ["readable", "end", "close", "error"]) incoming.off(name, listeners[name] ?? settle);
      resolve(chunk);
    };
    const look = () => {
      // No encoding is set, so what comes is bytes.
      const chunk = incoming.read() as Buffer | null;
      if (chunk !== null) settle(chunk);
      else if (incoming.readableEnded) settle();
    };
    const end = () => settle();
    const listeners: Record<string, () => void> = { readable: look, end, close: end, error: end };
    for (const [name, listener] of Object.entries(listeners)) incoming.on(name, listener);
    look();
  });
}

function parseCommands(bytes: Buffer): ReadCommands | "more" {
  const commands: PushCommand[] = [];
  for (let at = 0; ; ) {
    if (bytes.length < at + 4) return "more";
    const digits = bytes.toString("latin1", at, at + 4);
    if (!/^[0-9a-f]{4}$/i.test(digits)) return refuse("it is no push that git makes");
    const length = Number.parseInt(digits, 16);
    if (length === 0) return { ok: true, commands };
    if (length < 5) return refuse("it is no push that git makes");
    if (bytes.length < at + length) return "more";
    const line = bytes.toString("utf8", at + 4, at + length);
    at += length;
    if (/^shallow [0-9a-f]{40,64}\n?$/.test(line)) continue;
    const [, before = "", after = "", ref] =
      /^([0-9a-f]{40,64}) ([0-9a-f]{40,64}) ([^\0\n]+)(?:\0[^\0]*)?\n?$/.exec(line) ?? [];
    if (ref === undefined) return refuse("it is no push that git makes without being asked for more");
    commands.push({ before, after, ref });
  }
}

function refuse(reason: string): ReadCommands {
  return { ok: false, reason };
}
