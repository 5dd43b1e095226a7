import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import {
  ElicitRequestSchema,
  PromptListChangedNotificationSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { capabilities, type Link, type LinkEvents, watchEnd } from "./link.ts";

export interface SessionClient extends Pick<Link, "ended"> {
  client: Client;
}

/** The older package's client over a transport, for versions of the protocol with sessions (2025-11-25 and older). */
export function createSessionClient(
  transport: Transport,
  { version }: { version: string },
  events: LinkEvents,
): SessionClient {
  const client = new Client({ name: "heddle", version }, { capabilities });
  const ended = watchEnd(client, transport, events);
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => events.onElicit(params));
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => events.onListChanged());
  client.setNotificationHandler(PromptListChangedNotificationSchema, () => events.onListChanged());
  return { client, ended };
}
