import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import { once } from "node:events";
import type { Duplex } from "node:stream";
import type { PreviewAccess } from "../agent/contracts/previews.ts";
import type { Exposed } from "../sandbox/sandbox.ts";
import { forwardRequest, forwardUpgrade, refuse } from "./forward.ts";

/** Shows what threads serve, each at an origin of its own, for as long as this process and their jobs live. */
export interface Previews {
  /** Where it listens. */
  readonly port: number;
  of(thread: string): PreviewAccess;
  /** Ends its connections; the jobs end with their sandboxes. */
  close(): Promise<void>;
}

export interface PreviewOptions {
  /** What people open, with `{id}` in the host name, and `{port}`. */
  address: string;
  host: string;
  /** The first of ten; 0 takes a free one. */
  port: number;
  /** Longest life, ms. */
  lifetimeMs: number;
  perThread: number;
  now(): number;
}

/** Connections to all previews at once. */
const mostConnections = 512;
/** Further ports that are tried when one is taken. */
const furtherPorts = 9;
/** Requests of one preview at once, WebSockets included. */
const mostRequests = 64;

interface Shown {
  thread: string;
  exposed: Exposed;
  requests: number;
}

/** An answer that comes from no thread. */
interface Refusal {
  status: number;
  text: string;
}

const ended: Refusal = { status: 410, text: "This preview has ended. Ask in the thread for a new one.\n" };
const unknown: Refusal = { status: 404, text: "There is no preview at this address.\n" };
const busy: Refusal = { status: 503, text: "Too many requests to this preview at once; try again.\n" };

/** @throws Error with a sentence for the operator where it cannot listen */
export async function openPreviews(options: PreviewOptions): Promise<Previews> {
  const { host, lifetimeMs, perThread, now } = options;
  const shown = new Map<string, Shown>();
  const upgraded = new Set<Duplex>();
  const server = createServer();
  server.maxConnections = mostConnections;
  const port = await listen(server, host, options.port);
  const address = options.address.replaceAll("{port}", String(port));
  const readId = createIdReader(address);

  /** What the request is for, or what to answer it. */
  function find(request: IncomingMessage): Shown | Refusal {
    const id = readId(request.headers.host);
    if (id === undefined) return unknown;
    const preview = shown.get(id);
    // Whether there ever was one is not told.
    if (!preview) return ended;
    return preview.requests >= mostRequests ? busy : preview;
  }

  const track = (preview: Shown, stream: { once(event: "close", listener: () => void): unknown }) => {
    preview.requests += 1;
    stream.once("close", () => (preview.requests -= 1));
  };

  server.on("request", (request, response) => {
    const preview = find(request);
    if ("status" in preview) {
      response.writeHead(preview.status, { "content-type": "text/plain; charset=utf-8" });
      response.end(preview.text);
      return;
    }
    track(preview, response);
    forwardRequest(preview.exposed, request, response, address);
  });
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    upgraded.add(socket);
    socket.once("close", () => upgraded.delete(socket));
    const preview = find(request);
    if ("status" in preview) return refuse(socket, preview.status, preview.text);
    track(preview, socket);
    forwardUpgrade(preview.exposed, request, socket, head, address);
  });

  return {
    port,
    of: (thread) => ({
      findObstacle() {
        const mine = [...shown.values()].filter((preview) => preview.thread === thread).length;
        return mine < perThread
          ? undefined
          : `This thread shows ${mine} previews already, which is the limit; end one with bash_kill.`;
      },
      publish(exposed, minutes) {
        const id = newId();
        const life = Math.min(lifetimeMs, (minutes ?? Number.POSITIVE_INFINITY) * 60_000);
        const until = now() + life;
        shown.set(id, { thread, exposed, requests: 0 });
        const timer = setTimeout(() => void exposed.job.kill(), life).unref();
        void exposed.job.wait().then(() => {
          clearTimeout(timer);
          shown.delete(id);
        });
        return { address: `${address.replace("{id}", id)}/`, until };
      },
    }),
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      // The server counts them as open, and closes them neither now nor ever (Node's `closeAllConnections`).
      for (const socket of upgraded) socket.destroy();
      await closed;
    },
  };
}

async function listen(server: ReturnType<typeof createServer>, host: string, first: number): Promise<number> {
  for (let port = first; ; port += 1) {
    try {
      server.listen(port, host);
      await once(server, "listening");
      const bound = server.address();
      return typeof bound === "object" && bound ? bound.port : port;
    } catch (cause) {
      const code = cause instanceof Error && "code" in cause ? String(cause.code) : String(cause);
      if (code === "EADDRINUSE" && port < first + furtherPorts) continue;
      const where = `${host}:${first}`;
      const why = code === "EADDRINUSE" ? `it and the next ${furtherPorts} are taken` : code;
      throw new Error(
        `Previews cannot listen on ${where} (${why}): correct previews.host or previews.port in heddle.yaml.`,
        { cause },
      );
    }
  }
}

/** 130 bits as a label of a host name (RFC 4648 base32, lower case). */
function newId(): string {
  const letters = "abcdefghijklmnopqrstuvwxyz234567";
  return Array.from(randomBytes(26), (byte) => letters[byte % 32]).join("");
}

/** Reads the id out of a Host header, where that is an address of a preview. */
function createIdReader(address: string): (host: string | undefined) => string | undefined {
  const { hostname } = new URL(address.replace("{id}", "0id0"));
  const [before = "", after = ""] = hostname.split("0id0");
  const pattern = new RegExp(`^${escape(before)}([a-z2-7]{26})${escape(after)}(:\\d+)?$`);
  return (host) => pattern.exec((host ?? "").toLowerCase())?.[1];
}

function escape(text: string): string {
  return text.replaceAll(/\./g, "\\$&");
}
