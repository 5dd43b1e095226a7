import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport, SseError } from "@modelcontextprotocol/sdk/client/sse.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  type ElicitRequest,
  ElicitRequestSchema,
  type ElicitResult,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { createGuardedFetch } from "../../sandbox/guarded-fetch.ts";
import type { ServiceHost } from "../../sandbox/service.ts";
import type { EnabledServer, HttpEndpoint } from "./config.ts";
import { describeError, isForbidden, isTooLong, isRefusedLogin, isUnreachable } from "./failure.ts";
import { untilAborted } from "../until-aborted.ts";
import { fetchWithLimits } from "./http.ts";
import type { AccountStore } from "../mcp-account.ts";
import { createSignedFetch } from "./sign-in/token-source.ts";
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
  /** The server wants to know something of a person, in the middle of a call. */
  onElicit(params: ElicitRequest["params"]): Promise<ElicitResult>;
}

/** Heddle answers no sampling or roots requests of a server. */
const capabilities = { elicitation: { form: {}, url: {} } };

export interface LinkOptions {
  /** Of this program, as servers are told. */
  version: string;
  /** The longest silence of an HTTP server, in milliseconds. */
  readMs: number;
  /** Where server processes run; without it only those start that want no sandbox. */
  sandboxes?: ServiceHost | undefined;
  /** The installation's accounts at servers that want one. */
  accounts?: AccountStore | undefined;
  /** Told of each token before it is used. */
  onToken?: ((token: string) => void) | undefined;
  log(level: "info" | "warn", message: string): void;
}

export function createLink(server: EnabledServer, options: LinkOptions, events: LinkEvents): Link {
  const carrier = createCarrier(server, options);
  const client = new Client({ name: "heddle", version: options.version }, { capabilities });
  let ended = false;

  /* oxlint-disable unicorn/prefer-add-event-listener -- the SDK's client is no EventTarget */
  client.onclose = () => {
    ended = true;
    events.onEnd();
  };
  client.onerror = (error) => {
    // All mean that answers to open requests can no longer arrive. The SDK would go on waiting for them, and
    // an SSE stream that it opens anew belongs to a session without a handshake.
    // Not at once, so that the request that met the error still learns of it.
    if (error instanceof SseError || isUnreachable(error) || isTooLong(error))
      setImmediate(() => void carrier.transport.close());
  };
  /* oxlint-enable unicorn/prefer-add-event-listener */
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => events.onElicit(params));
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => events.onToolsChanged());

  return {
    client,
    async connect(signal) {
      const connecting = client.connect(carrier.transport, { signal, ...withoutOwnTimeout });
      // An SSE stream that opens and then stays silent does not look at the signal.
      await untilAborted(connecting, signal);
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

function createCarrier({ name, endpoint }: EnabledServer, options: LinkOptions): Carrier {
  const { sandboxes } = options;
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
      const { fetch, explain } = openHttp(name, endpoint, options);
      const requestInit = { headers: endpoint.headers };
      const transport = new StreamableHTTPClientTransport(endpoint.url, { requestInit, fetch });
      // A server that is gone cannot be told; its session went with it.
      const terminate = () => transport.terminateSession().catch(() => {});
      const farewell = () => Promise.race([terminate(), sleep(1_000, undefined, { ref: false })]);
      return { transport, farewell, explain };
    }
    case "sse": {
      const { fetch, explain } = openHttp(name, endpoint, options);
      const requestInit = { headers: endpoint.headers };
      return {
        transport: new SSEClientTransport(endpoint.url, { requestInit, fetch }),
        farewell: async () => {},
        explain,
      };
    }
  }
}

function openHttp(server: string, { url, signIn }: HttpEndpoint, options: LinkOptions) {
  const { readMs, accounts: store, onToken = () => {}, log } = options;
  const fetch = fetchWithLimits(createGuardedFetch({ named: [url] }), readMs);
  if (!signIn || !store) return { fetch, explain: describeError };
  const onProblem = (problem: string) => log("warn", problem);
  const isPersons = signIn.accounts === "person";
  const remedy = isPersons ? { remedy: "its person is asked to connect it again if this goes on" } : {};
  const missing = isPersons
    ? "its person has not connected an account, or it has ended"
    : `nobody has signed in to it, or the sign-in has ended: run heddle mcp login ${server}`;
  const forbidden = `its account there may not do this${isPersons ? "" : `: heddle mcp login ${server} asks for what it lacks`}`;
  return {
    fetch: createSignedFetch(fetch, { server, url, store, onToken, onProblem, ...remedy }),
    explain(error: unknown) {
      if (isRefusedLogin(error)) return missing;
      return isForbidden(error) ? forbidden : describeError(error);
    },
  };
}
