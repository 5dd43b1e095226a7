import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import {
  ElicitRequestSchema,
  PromptListChangedNotificationSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { createGuardedFetch } from "../../sandbox/guarded-fetch.ts";
import { untilAborted } from "../until-aborted.ts";
import type { AnswerTooLarge } from "./bounded-answer.ts";
import type { EnabledServer, HttpEndpoint, McpEndpoint } from "./config.ts";
import { describeError, isForbidden, isRefusedLogin } from "./failure.ts";
import { fetchWithLimits } from "./http.ts";
import { createHttpLink } from "./http-link.ts";
import {
  capabilities,
  type Link,
  type LinkEvents,
  type LinkOptions,
  watchEnd,
  withoutOwnTimeout,
} from "./link.ts";
import { startSandboxed } from "./sandboxed-process.ts";
import { createSignedFetch } from "./sign-in/token-source.ts";
import { createStdioTransport, type StdioTransport } from "./stdio.ts";
import { startUnconfined } from "./unconfined-process.ts";

export function createLink(server: EnabledServer, options: LinkOptions, events: LinkEvents): Link {
  const { name, endpoint } = server;
  if (endpoint.kind === "http") {
    const { promise: broken, reject } = Promise.withResolvers<never>();
    broken.catch(() => undefined);
    const carrier = { ...openHttp(name, endpoint, { ...options, onTooLarge: reject }), broken };
    return createHttpLink(endpoint, carrier, options, events);
  }
  const carrier = createCarrier(name, endpoint, options);
  const client = new Client({ name: "heddle", version: options.version }, { capabilities });
  const ended = watchEnd(client, carrier.transport, events);
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => events.onElicit(params));
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => events.onListChanged());
  client.setNotificationHandler(PromptListChangedNotificationSchema, () => events.onListChanged());

  return {
    client,
    async connect(signal) {
      const connecting = client.connect(carrier.transport, { signal, ...withoutOwnTimeout });
      // An SSE stream that opens and then stays silent does not look at the signal.
      await untilAborted(connecting, signal);
    },
    mirrorsArguments: () => false,
    follow: async () => {},
    ended,
    explain: (error) => carrier.explain(error),
    close: () => carrier.transport.close(),
  };
}

interface Carrier {
  transport: StdioTransport | SSEClientTransport;
  explain(error: unknown): string;
}

function createCarrier(name: string, endpoint: McpEndpoint, options: LinkOptions): Carrier {
  if (endpoint.kind !== "stdio") {
    const { fetch, explain } = openHttp(name, endpoint, options);
    const requestInit = { headers: endpoint.headers };
    return { transport: new SSEClientTransport(endpoint.url, { requestInit, fetch }), explain };
  }
  const { access } = endpoint;
  const transport = createStdioTransport(
    access === "none"
      ? startUnconfined(endpoint)
      : startSandboxed({ ...endpoint, name, access }, options.sandboxes),
  );
  return { transport, explain: (error) => transport.explain(error) };
}

function openHttp(
  server: string,
  { url, signIn }: HttpEndpoint,
  options: LinkOptions & { onTooLarge?(error: AnswerTooLarge): void },
) {
  const { readMs, accounts: store, onToken = () => {}, onTooLarge = () => {}, log } = options;
  const fetch = fetchWithLimits(createGuardedFetch({ named: [url] }), readMs, { onTooLarge });
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
