import { z } from "zod";

/** An account at an MCP server, as sign-in has left it. All of it is secret. */
export const accountSchema = z.object({
  version: z.literal(1),
  /** Address of the MCP server that it was made for. */
  server: z.string(),
  /** The authorization server and its metadata (RFC 8414), as it was found at sign-in. */
  issuer: z.string(),
  metadata: z.looseObject({}).optional(),
  /** RFC 8707: what the token is for. */
  resource: z.string().optional(),
  client: z.looseObject({ client_id: z.string(), client_secret: z.string().optional() }),
  accessToken: z.string(),
  refreshToken: z.string().optional(),
  /** When the token ends, ms since the epoch; absent where the server does not say. */
  expiresAt: z.number().optional(),
  scope: z.string().optional(),
});

export type Account = z.infer<typeof accountSchema>;

/** Where the installation's accounts are kept, for all of its processes. */
export interface AccountStore {
  /** Undefined where nobody has signed in. @throws where it cannot be read */
  read(server: string): Promise<Account | undefined>;
  write(server: string, account: Account): Promise<void>;
  /** False where there was none. */
  remove(server: string): Promise<boolean>;
  /** Runs the work unless another process does just now: two that renew one token would each void the other's. */
  renewAlone(server: string, work: () => Promise<void>): Promise<"done" | "busy">;
}
