import { setTimeout as sleep } from "node:timers/promises";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { untilAborted } from "../until-aborted.ts";
import type { HttpEndpoint } from "./config.ts";
import { capabilities, type Link, type LinkEvents, watchEnd, withoutOwnTimeout } from "./link.ts";

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
  const client = new Client(
    { name: "heddle", version },
    { capabilities, versionNegotiation: { mode: "auto" } },
  );
  const ended = watchEnd(client, transport, events);
  const isStateless = () => client.getProtocolEra() === "modern";
  let following: Promise<unknown> | undefined;
  client.setRequestHandler("elicitation/create", async ({ params }) => {
    const asked = ElicitRequestSchema.parse({ method: "elicitation/create", params });
    return await events.onElicit(asked.params);
  });
  client.setNotificationHandler("notifications/tools/list_changed", () => events.onListChanged());
  client.setNotificationHandler("notifications/prompts/list_changed", () => events.onListChanged());

  return {
    client,
    async connect(signal) {
      const connecting = client.connect(transport, { signal, ...withoutOwnTimeout });
      await untilAborted(Promise.race([connecting, broken]), signal);
    },
    mirrorsArguments: isStateless,
    async follow() {
      const { tools, prompts } = client.getServerCapabilities() ?? {};
      const wanted = {
        ...(tools?.listChanged && { toolsListChanged: true }),
        ...(prompts?.listChanged && { promptsListChanged: true }),
      };
      if (!isStateless() || following || Object.keys(wanted).length === 0) return;
      // One that ends, as in a long silence, is asked for with the next listing: until then nothing is missed that the
      // list's own lifetime does not tell.
      following = client.listen(wanted).then(({ closed }) => closed);
      await following.catch(() => {});
      following = undefined;
    },
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
