import type { Tool, ToolResult } from "../tools/tool.ts";
import type { Asker } from "./people/asker.ts";
import type { McpCallOutcome } from "./call.ts";
import { type EnabledServer, takesPersons } from "./config.ts";
import { type Connection, type ConnectionOptions, createConnection } from "./connection.ts";
import { createConnectTool, ownedBy } from "./people/connect-tool.ts";
import type { InputStore } from "../contracts/input-store.ts";
import type { Listing } from "./listing/listing.ts";
import { nobody } from "./people/nobody.ts";
import { openPersonConnections, type PersonConnectionOptions } from "./people/person-connections.ts";
import { createMcpTool, createResourceTool, describeOutcome, resourceTool } from "./tool.ts";

/** A server of the pool. */
export interface Member {
  server: EnabledServer;
  /** What a turn has of it. @param asker for servers that take accounts of persons; absent where nobody has asked */
  join(asker: Asker | undefined): Joined;
  /** Those that are open. */
  connections(): readonly Connection[];
  close(): Promise<void>;
}

/** A server as one turn sees it. */
export interface Joined {
  server: string;
  /** With the account of the person who has asked: others may have other tools there, or none. */
  isPersonal: boolean;
  connection: Connection;
  /** The tools that it offers with this listing. */
  tools(listing: Listing): Tool[];
  /** What a call's outcome says. */
  toResult(outcome: McpCallOutcome): ToolResult;
}

/** @param options.connectProblem why nobody can connect an account here, for the model; undefined where people can */
export function joinServer(
  server: EnabledServer,
  options: ConnectionOptions &
    PersonConnectionOptions & { connectProblem(): string | undefined; inputs?: InputStore | undefined },
): Member {
  const { timeouts } = options;
  const toResult = (outcome: McpCallOutcome) => describeOutcome(outcome, server.name, timeouts);
  const toTools = (
    connection: Connection,
    { tools, hasResources }: Listing,
    asker: Asker | undefined,
  ): Tool[] => {
    const { inputs: store } = options;
    const inputs = store && asker && { store, asker };
    const own = tools.map((tool) =>
      createMcpTool(server, connection, tool, timeouts, { inputs, trace: asker?.trace }),
    );
    const readsThem = tools.some(({ name }) => name === resourceTool);
    return hasResources && !readsThem ? [...own, createResourceTool(server, connection, timeouts)] : own;
  };
  if (takesPersons(server)) {
    const people = openPersonConnections(server, options);
    return {
      server,
      connections: () => people.open(),
      close: () => people.close(),
      join(asker) {
        const connection = asker ? people.of(asker.person) : nobody;
        const connect = createConnectTool(server, { asker, connection, ...options });
        const tools = (listing: Listing) => [
          connect,
          ...toTools(connection, listing, asker).map((tool) => ownedBy(tool, server.name, asker)),
        ];
        return { server: server.name, isPersonal: true, connection, tools, toResult };
      },
    };
  }
  const connection = createConnection(server, options);
  return {
    server,
    connections: () => [connection],
    close: () => connection.close(),
    join: (asker) => ({
      ...{ server: server.name, isPersonal: false, connection, toResult },
      tools: (listing) => toTools(connection, listing, asker),
    }),
  };
}
