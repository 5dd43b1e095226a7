import { z } from "zod";
import { createGuardedFetch, type GuardedFetch } from "../../../sandbox/guarded-fetch.ts";
import { accountSchema } from "../../contracts/mcp-account.ts";

/** What there is to say of a sign-in without the protocol's SDK, which takes its time to load. */

/** Why somebody could not sign in: a sentence for that person. */
export class SignInError extends Error {
  override readonly name = "SignInError";
}

/** What ends a sign-in, wherever the answer arrives. All of it is secret. */
export const begunSignInSchema = z.object({
  state: z.string(),
  codeVerifier: z.string(),
  issuer: z.string(),
  isIssuerPromised: z.boolean(),
  metadata: accountSchema.shape.metadata,
  hosts: accountSchema.shape.hosts,
  resource: accountSchema.shape.resource,
  client: accountSchema.shape.client,
  redirect: z.string(),
});

export type BegunSignIn = z.infer<typeof begunSignInSchema>;

/** Whether what is sent there cannot be read on the way. */
export function isProtected({ protocol, hostname }: URL): boolean {
  return protocol === "https:" || ["127.0.0.1", "[::1]", "localhost"].includes(hostname);
}

/**
 * `fetch` for a sign-in, whose addresses the MCP server has chosen: they are public, but for that server's own and those
 * that the operator has named.
 */
export function openSignInFetch({
  server,
  hosts = [],
}: {
  server: string;
  hosts?: readonly string[] | undefined;
}): GuardedFetch {
  return createGuardedFetch({ named: [new URL(server), ...hosts] });
}
