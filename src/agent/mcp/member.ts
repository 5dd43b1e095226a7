import type { Tool } from "../tools/tool.ts";
import type { EnabledServer } from "./config.ts";
import { type Connection, type ConnectionOptions, createConnection } from "./connection.ts";
import type { Listing } from "./listing.ts";
import { createMcpTool, createResourceTool, resourceTool } from "./tool.ts";

/** A server of the pool. */
export interface Member {
  server: EnabledServer;
  connection: Connection;
  /** The tools that it offers with this listing. */
  tools(listing: Listing): Tool[];
}

export function joinServer(server: EnabledServer, options: ConnectionOptions): Member {
  const connection = createConnection(server, options);
  return {
    server,
    connection,
    tools({ tools, hasResources }) {
      const own = tools.map((tool) => createMcpTool(server, connection, tool, options.timeouts));
      const readsThem = tools.some(({ name }) => name === resourceTool);
      return hasResources && !readsThem
        ? [...own, createResourceTool(server, connection, options.timeouts)]
        : own;
    },
  };
}
