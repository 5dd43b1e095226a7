import { Client, type Transport, type VersionNegotiationOptions } from "@modelcontextprotocol/client";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { capabilities, type Link, type LinkEvents, watchEnd } from "./link.ts";

/** The first version of the protocol without sessions. */
export const statelessVersion = "2026-07-28";

export interface StatelessClient extends Pick<Link, "ended" | "follow"> {
  client: Client;
  /** Whether the server speaks the protocol without sessions; known once it is connected. */
  isStateless(): boolean;
}

/** The newer package's client over a transport, with what a {@link Link} needs of it. Decision 58 says for which servers. */
export function createStatelessClient(
  transport: Transport,
  { version, mode }: { version: string; mode: VersionNegotiationOptions["mode"] },
  events: LinkEvents,
): StatelessClient {
  const client = new Client(
    { name: "heddle", version },
    { capabilities, versionNegotiation: { ...(mode !== undefined && { mode }) } },
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
    ended,
    isStateless,
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
  };
}
