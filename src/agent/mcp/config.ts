import type { ServiceAccess } from "../../sandbox/service.ts";

/* What `mcp.json` says; read-config.ts reads it. */

/** A server that is started as a process. */
export interface StdioEndpoint {
  kind: "stdio";
  command: string;
  args: string[];
  env: Record<string, string>;
  cwd?: string;
  /** What its sandbox has of the host. `none`: it has no sandbox, because its entry says so. */
  access: ServiceAccess | "none";
}

/** What the operator says of signing in to a server; all of it may be left to the server. */
export interface SignInSettings {
  /** Whose account a call is made with: the installation's (the default), or that of the person who has asked for it. */
  accounts?: "installation" | "person";
  /** A client that is registered there; without it Heddle registers itself. */
  clientId?: string;
  clientSecret?: string;
  /** Names of permissions, with blanks between them; without it those that the server names. */
  scope?: string;
  /** Hosts of its sign-in that may be private, with their port where it is not 80 or 443. */
  hosts?: readonly string[];
}

export interface HttpEndpoint {
  kind: "http" | "sse";
  url: URL;
  headers: Record<string, string>;
  /** It takes an account, of the installation (see `heddle mcp login`) or of each person. */
  signIn?: SignInSettings;
}

/** How a server is reached. */
export type McpEndpoint = StdioEndpoint | HttpEndpoint;

/** Milliseconds, all above 0. */
export interface McpTimeouts {
  /** Start, handshake and the first tool list together. */
  connectMs: number;
  /** One tool call, from the request to its answer. */
  executeMs: number;
  /** The longest silence on an HTTP response or an event stream. */
  readMs: number;
}

export interface EnabledServer {
  state: "enabled";
  name: string;
  endpoint: McpEndpoint;
  /** The server's own settings; the pool's defaults fill in the rest. */
  timeouts: Partial<McpTimeouts>;
  /** The operator vouches for what the server says about its own tools. */
  trust: boolean;
  /** Its tools are sent with every request, however many there are. */
  always: boolean;
}

/** One entry of `mcp.json`. An invalid one is kept with its error, so that `/status` can show it. */
export type McpServer =
  | EnabledServer
  | { state: "disabled"; name: string }
  | { state: "invalid"; name: string; problem: string };

export interface McpConfig {
  servers: McpServer[];
  /** Values to be masked wherever they appear. */
  secrets: string[];
}

/** `mcp.json` as a whole cannot be used. The message is one sentence for the operator. */
export class McpConfigError extends Error {
  override readonly name = "McpConfigError";
}

/** Whether each person has an account of their own there. */
export function takesPersons({ endpoint }: EnabledServer): boolean {
  return endpoint.kind !== "stdio" && endpoint.signIn?.accounts === "person";
}
