import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport, SseError } from "@modelcontextprotocol/sdk/client/sse.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import type { ServiceHost } from "../../sandbox/service.ts";
import type { EnabledServer } from "./config.ts";
import { describeError, isUnreachable } from "./failure.ts";
import { fetchWithReadTimeout } from "./http.ts";
import { startSandboxed } from "./sandboxed-process.ts";
import { createStdioTransport, type StdioTransport } from "./stdio.ts";
import { startUnconfined } from "./unconfined-process.ts";

/** For requests that a {@link startDeadline} bounds: disables the SDK's own time-out of 60 s. */
export const withoutOwnTimeout = { timeout: 2 ** 31 - 1 };

/** The protocol client and what carries it, for one server and one connection; never used again after its end. */
export interface Link {
  readonly client: Client;
  /** Starts the server or opens the stream, and completes the handshake. */
  connect(signal: AbortSignal): Promise<void>;
  /** The connection has ended, by either side. */
  ended(): boolean;
  /** One clause about what went wrong, with the last words of a server process. */
  explain(error: unknown): string;
  close(): Promise<void>;
}

export interface LinkEvents {
  onEnd(): void;
  onToolsChanged(): void;
}

/** No capabilities: Heddle answers no sampling, elicitation or roots requests of a server. */
const clientInfo = { name: "heddle", version: "0.1.0" };

export interface LinkOptions {
  /** The longest silence of an HTTP server, in milliseconds. */
  readMs: number;
  /** Where server processes run; without it only those start that want no sandbox. */
  sandboxes?: ServiceHost | undefined;
}

export function createLink(server: EnabledServer, options: LinkOptions, events: LinkEvents): Link {
  const carrier = createCarrier(server, options);
  const client = new Client(clientInfo);
  let ended = false;

  /* oxlint-disable unicorn/prefer-add-event-listener -- the SDK's client is no EventTarget */
  client.onclose = () => {
    ended = true;
    events.onEnd();
  };
  client.onerror = (error) => {
    // Both mean that answers to open requests can no longer arrive. The SDK would go on waiting for them, and
    // an SSE stream that it opens anew belongs to a session without a handshake.
    // Not at once, so that the request that met the error still learns of it.
    if (error instanceof SseError || isUnreachable(error)) setImmediate(() => void carrier.transport.close());
  };
  /* oxlint-enable unicorn/prefer-add-event-listener */
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => events.onToolsChanged());

  return {
    client,
    async connect(signal) {
      const connecting = client.connect(carrier.transport, { signal, ...withoutOwnTimeout });
      // An SSE stream that opens and then stays silent does not look at the signal.
      const aborted = Promise.withResolvers<never>();
      const onAbort = () => aborted.reject(signal.reason);
      signal.addEventListener("abort", onAbort, { once: true });
      try {
        await Promise.race([connecting, aborted.promise]);
      } finally {
        signal.removeEventListener("abort", onAbort);
      }
    },
    ended: () => ended,
    explain: (error) => carrier.explain(error),
    async close() {
      await carrier.farewell();
      await carrier.transport.close();
    },
  };
}

interface Carrier {
  transport: StdioTransport | StreamableHTTPClientTransport | SSEClientTransport;
  /** What a server wants to hear before the connection is closed. Bounded; never rejects. */
  farewell(): Promise<void>;
  explain(error: unknown): string;
}

function createCarrier({ name, endpoint }: EnabledServer, { readMs, sandboxes }: LinkOptions): Carrier {
  switch (endpoint.kind) {
    case "stdio": {
      const { access } = endpoint;
      const transport = createStdioTransport(
        access === "none"
          ? startUnconfined(endpoint)
          : startSandboxed({ ...endpoint, name, access }, sandboxes),
      );
      return { transport, farewell: async () => {}, explain: (error) => transport.explain(error) };
    }
    case "http": {
      const { url, headers } = endpoint;
      const options = { requestInit: { headers }, fetch: fetchWithReadTimeout(readMs) };
      const transport = new StreamableHTTPClientTransport(url, options);
      // A server that is gone cannot be told; its session went with it.
      const terminate = () => transport.terminateSession().catch(() => {});
      const farewell = () => Promise.race([terminate(), sleep(1_000, undefined, { ref: false })]);
      return { transport, farewell, explain: describeError };
    }
    case "sse": {
      const { url, headers } = endpoint;
      const options = { requestInit: { headers }, fetch: fetchWithReadTimeout(readMs) };
      return {
        transport: new SSEClientTransport(url, options),
        farewell: async () => {},
        explain: describeError,
      };
    }
  }
}
