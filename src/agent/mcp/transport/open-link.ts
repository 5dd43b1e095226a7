import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { createGuardedFetch } from "../../../sandbox/guarded-fetch.ts";
import { untilAborted } from "../../until-aborted.ts";
import type { AnswerTooLarge } from "../../network/bounded-answer.ts";
import type { EnabledServer, HttpEndpoint } from "../config.ts";
import { describeError, isForbidden, isRefusedLogin } from "../failure.ts";
import { fetchWithLimits } from "./http.ts";
import { createHttpLink } from "./http-link.ts";
import { type Link, type LinkEvents, type LinkOptions, withoutOwnTimeout } from "./link.ts";
import { createSessionClient } from "./session-client.ts";
import { createSignedFetch } from "../sign-in/token-source.ts";
import { createStdioLink } from "./stdio-link.ts";

export function createLink(server: EnabledServer, options: LinkOptions, events: LinkEvents): Link {
  const { name, endpoint } = server;
  if (endpoint.kind === "stdio") return createStdioLink(server, endpoint, options, events);
  if (endpoint.kind === "sse") return createSseLink(name, endpoint, options, events);
  const { promise: broken, reject } = Promise.withResolvers<never>();
  broken.catch(() => undefined);
  const carrier = { ...openHttp(name, endpoint, { ...options, onTooLarge: reject }), broken };
  return createHttpLink(endpoint, carrier, options, events);
}

function createSseLink(name: string, endpoint: HttpEndpoint, options: LinkOptions, events: LinkEvents): Link {
  const { fetch, explain } = openHttp(name, endpoint, options);
  const requestInit = { headers: endpoint.headers };
  const transport = new SSEClientTransport(endpoint.url, { requestInit, fetch });
  const { client, ended } = createSessionClient(transport, options, events);
  return {
    client,
    async connect(signal) {
      const connecting = client.connect(transport, { signal, ...withoutOwnTimeout });
      // A stream that opens and then stays silent does not look at the signal.
      await untilAborted(connecting, signal);
    },
    mirrorsArguments: () => false,
    follow: async () => {},
    ended,
    explain,
    close: () => transport.close(),
  };
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
