import { setTimeout as sleep } from "node:timers/promises";
import { ReadBuffer, serializeMessage } from "@modelcontextprotocol/sdk/shared/stdio.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { describeError, joinLines } from "../failure.ts";
import { graceMs, type ServerProcess, type StartServer } from "./server-process.ts";

const keptStderr = 4_096;

export interface StdioTransport extends Transport {
  /** Whether the server has answered any request, be it with an error. */
  answered(): boolean;
  /**
   * One clause on what went wrong: how the process ended, else `error`; with its last words on stderr, and with what it
   * seems to lack.
   */
  explain(error: unknown): string;
}

/** Talks to a server process over its standard streams. */
export function createStdioTransport(startServer: StartServer): StdioTransport {
  const received = new ReadBuffer();
  let starting: Promise<ServerProcess> | undefined;
  let server: ServerProcess | undefined;
  let stderr = "";
  /** Messages are handled one after the other, also when more of them arrive meanwhile. */
  let reading = false;
  let answered = false;
  /** How it ended unexpectedly. */
  let obituary: string | undefined;
  let closing: Promise<void> | undefined;

  const transport: StdioTransport = {
    async start() {
      starting = startServer((stream, chunk) => {
        if (stream === "stdout") void read(chunk);
        else stderr = (stderr + chunk.toString("utf8")).slice(-keptStderr);
      });
      server = await starting;
      void server.ended.then((how) => {
        if (!closing) obituary = how;
        transport.onclose?.();
      });
    },

    async send(message) {
      try {
        await server?.write(serializeMessage(message));
      } catch (error) {
        // A broken pipe mostly means that the process ended; its exit code and last words say more, if they come.
        await Promise.race([server?.ended, sleep(graceMs, undefined, { ref: false })]);
        throw error;
      }
    },

    close() {
      closing ??= (starting ?? Promise.resolve(undefined)).then(
        (started) => started?.stop(),
        () => undefined,
      );
      return closing;
    },

    answered: () => answered,

    explain(error) {
      const lastWords = joinLines(readLastWords(stderr)).slice(-300);
      const hint = server?.hint();
      return [
        obituary ?? describeError(error),
        ...(lastWords ? [`it wrote: ${lastWords}`] : []),
        ...(hint ? [hint] : []),
      ].join("; ");
    },
  };
  return transport;

  async function read(chunk: Buffer): Promise<void> {
    try {
      received.append(chunk);
    } catch (error) {
      // More than the SDK's 10 MB without a newline: nothing that follows can be understood.
      transport.onerror?.(toError(error));
      return await transport.close();
    }
    if (reading) return;
    reading = true;
    for (;;) {
      try {
        const message = received.readMessage();
        if (!message) break;
        if ("result" in message || "error" in message) answered = true;
        transport.onmessage?.(message);
      } catch (error) {
        // Not a message, such as a log line on the wrong stream: skipped.
        transport.onerror?.(toError(error));
      }
      // The SDK handles notifications one microtask later: an answer must not overtake them.
      await Promise.resolve();
    }
    reading = false;
  }
}

/** The end of what a server wrote; of a Node that has crashed what it said above its stack. */
function readLastWords(stderr: string): string {
  const lines = stderr.trimEnd().split("\n");
  const isNode = /^Node\.js v\d/.test(lines.at(-1) ?? "");
  const named = isNode ? lines.findLast((line) => /^[\w.]*Error\b.*: /.test(line)) : undefined;
  return named ?? lines.slice(-3).join(" | ");
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
