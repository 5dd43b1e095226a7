import type { Tool } from "../tools/tool.ts";
import type { EnabledServer } from "./config.ts";
import { type Connection, type ConnectionOptions, createConnection } from "./connection.ts";
import { createMcpTool } from "./tool.ts";

/** A server of the pool. */
export interface Member {
  server: EnabledServer;
  connection: Connection;
  /** The tools that it currently offers. */
  tools(): Tool[];
}

export function joinServer(server: EnabledServer, options: ConnectionOptions): Member {
  const connection = createConnection(server, options);
  return {
    server,
    connection,
    tools: () =>
      connection.listing().tools.map((tool) => createMcpTool(server, connection, tool, options.timeouts)),
  };
}
