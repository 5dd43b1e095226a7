import { setTimeout as sleep } from "node:timers/promises";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport.js";
import { untilAborted } from "../../until-aborted.ts";
import type { HttpEndpoint } from "../config.ts";
import { type Link, type LinkEvents, withoutOwnTimeout } from "./link.ts";
import { createStatelessClient } from "./stateless-client.ts";

/**
 * A link over streamable HTTP, to servers of the protocol without sessions (2026-07-28 on) and to older ones: which it
 * is, the server says when it is asked what it offers.
 *
 * @param carrier.broken rejects when an answer is given up; the package does not hear of it while it asks that
 */
export function createHttpLink(
  { url, headers }: HttpEndpoint,
  { fetch, explain, broken }: { fetch: FetchLike; explain(error: unknown): string; broken: Promise<never> },
  { version }: { version: string },
  events: LinkEvents,
): Link {
  const transport = new StreamableHTTPClientTransport(url, { requestInit: { headers }, fetch });
  const { client, ended, follow, isStateless } = createStatelessClient(
    transport,
    { version, mode: "auto" },
    events,
  );

  return {
    client,
    async connect(signal) {
      const connecting = client.connect(transport, { signal, ...withoutOwnTimeout });
      await untilAborted(Promise.race([connecting, broken]), signal);
    },
    mirrorsArguments: isStateless,
    follow,
    ended,
    explain,
    async close() {
      // A server that is gone cannot be told; its session went with it.
      const terminate = () => transport.terminateSession().catch(() => {});
      await Promise.race([terminate(), sleep(1_000, undefined, { ref: false })]);
      await transport.close();
    },
  };
}
