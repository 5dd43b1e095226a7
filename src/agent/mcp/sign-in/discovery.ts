import {
  discoverOAuthServerInfo,
  extractWWWAuthenticateParams,
  type OAuthServerInfo,
} from "@modelcontextprotocol/sdk/client/auth.js";
import { checkResourceAllowed } from "@modelcontextprotocol/sdk/shared/auth-utils.js";
import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport.js";
import { z } from "zod";
import { boundAnswer } from "../../network/bounded-answer.ts";
import { isProtected, openSignInFetch, SignInError } from "./begun.ts";

/** The longest answer of a sign-in that is read: metadata, a registration or tokens are a few KiB. */
export const signInBytes = 256 * 1024;

/** A server of `mcp.json`. */
export interface SignInServer {
  name: string;
  url: URL;
  /** Hosts of its sign-in that may be private. */
  hosts?: readonly string[] | undefined;
}

/** Where an account at a server is made, as it says itself, and as far as that may be believed. */
export interface FoundSignIn extends OAuthServerInfo {
  /** What the server wants of whoever comes without an account, with blanks between the permissions. */
  scope: string | undefined;
  /** The authorization server promises to say who it is in its answers (RFC 9207, 3). */
  isIssuerPromised: boolean;
}

/**
 * Asks a server where to sign in: by a request that it refuses (RFC 6750, 3, and RFC 9728, 5.1), then by its metadata
 * (RFC 9728) and that of its authorization server (RFC 8414).
 *
 * @param stepMs how long the refusal and the metadata may each take
 * @throws SignInError where they are not to be believed; whatever is thrown where they cannot be had
 */
export async function discoverSignIn(server: SignInServer, stepMs: number): Promise<FoundSignIn> {
  const refusal = await readRefusal(server, stepMs);
  const said: Said = { promising: new Set(), resourceMetadata: undefined };
  const found = await discoverOAuthServerInfo(server.url, {
    ...(refusal.metadataUrl && { resourceMetadataUrl: refusal.metadataUrl }),
    fetchFn: noteSaid(createSignInFetch(server, stepMs), said),
  });
  checkResource(server, found, said);
  checkAuthorizationServer(server, found);
  return {
    ...found,
    scope: chooseScope(found, refusal.scope),
    isIssuerPromised: said.promising.size > 0,
  };
}

/**
 * What the server wants for a request that it has refused, else all that it names
 * (https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization#scope-selection-strategy); with what
 * gives a refresh token, where its authorization server has a name for that.
 */
function chooseScope(found: OAuthServerInfo, refused: string | undefined): string | undefined {
  const scope = refused ?? found.resourceMetadata?.scopes_supported?.join(" ");
  const isOffered = found.authorizationServerMetadata?.scopes_supported?.includes("offline_access") === true;
  const isNamed = scope?.split(" ").includes("offline_access") === true;
  return scope !== undefined && isOffered && !isNamed ? `${scope} offline_access` : scope;
}

/**
 * What a server says to a request without a token. A ping is something else nowhere, and does nothing where it is taken.
 * Where there is no such answer its metadata lie where RFC 9728, 3 puts them.
 */
async function readRefusal(
  server: SignInServer,
  stepMs: number,
): Promise<{ metadataUrl?: URL | undefined; scope?: string | undefined }> {
  const ask = createSignInFetch(server, stepMs);
  try {
    const response = await ask(server.url, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
    });
    await response.body?.cancel();
    if (response.status !== 401) return {};
    const { resourceMetadataUrl: metadataUrl, scope } = extractWWWAuthenticateParams(response);
    return { metadataUrl, scope };
  } catch {
    return {};
  }
}

/** What answers on the way to the metadata say that the SDK does not hand on. */
interface Said {
  /** The issuers whose metadata promises `iss` in answers. The SDK drops that field from an OpenID provider's. */
  promising: Set<string>;
  /** Where the resource's metadata were found. */
  resourceMetadata: URL | undefined;
}

const promiseSchema = z.object({
  issuer: z.string(),
  authorization_response_iss_parameter_supported: z.literal(true),
});
const resourceSchema = z.object({ resource: z.string() });

function noteSaid(fetchFn: FetchLike, said: Said): FetchLike {
  return async (address, init) => {
    const response = await fetchFn(address, init);
    const metadata: unknown = await response
      .clone()
      .json()
      .catch(() => undefined);
    const promise = promiseSchema.safeParse(metadata);
    if (promise.success) said.promising.add(promise.data.issuer);
    if (response.ok && resourceSchema.safeParse(metadata).success) said.resourceMetadata = new URL(address);
    return response;
  };
}

const wellKnown = "/.well-known/oauth-protected-resource";

/**
 * A server may not have tokens made out for another one. RFC 9728, 3.3: the resource is, letter by letter, the address
 * that was asked, or the one that the metadata's own address stands for, which is the server's whole origin where they
 * lie at the root. A slash at the end of an empty path makes no difference (RFC 3986, 6.2.3).
 */
function checkResource(server: SignInServer, { resourceMetadata }: OAuthServerInfo, said: Said): void {
  if (!resourceMetadata) return;
  const { resource } = resourceMetadata;
  const isRoot = said.resourceMetadata?.pathname === wellKnown;
  const allowed = [server.url.href, ...(isRoot ? [said.resourceMetadata?.origin ?? ""] : [])];
  if (
    allowed.map(normalizeEmptyPath).includes(normalizeEmptyPath(resource)) &&
    checkResourceAllowed({ requestedResource: server.url, configuredResource: resource })
  )
    return;
  throw new SignInError(`${server.name}: it names another resource (${resource}) than its own address.`);
}

/** Nobody may be sent to where others can listen, or to whoever only says to be that authorization server. */
function checkAuthorizationServer(server: SignInServer, found: OAuthServerInfo): void {
  const { authorizationServerMetadata: metadata, authorizationServerUrl } = found;
  const addresses = [
    authorizationServerUrl,
    metadata?.authorization_endpoint,
    metadata?.token_endpoint,
    metadata?.registration_endpoint,
  ];
  for (const address of addresses) {
    const url = address === undefined ? undefined : URL.parse(address);
    if (url && !isProtected(url)) throw createUnprotected(server, url);
  }
  // RFC 8414, 3.3, letter by letter: whoever names another's issuer could pass for it where answers are told apart by it.
  if (metadata && normalizeEmptyPath(metadata.issuer) !== normalizeEmptyPath(authorizationServerUrl))
    throw new SignInError(
      `${server.name}: its sign-in names another issuer than the address that it was found at.`,
    );
  // One that says nothing of it does not know it: https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization#authorization-code-protection
  if (metadata && !metadata.code_challenge_methods_supported?.includes("S256"))
    throw new SignInError(
      `${server.name}: its sign-in at ${new URL(authorizationServerUrl).host} does not say that it knows PKCE with S256, which keeps a code from being stolen: its metadata must have it in code_challenge_methods_supported.`,
    );
}

function normalizeEmptyPath(address: string): string {
  return URL.parse(address)?.pathname === "/" ? address.replace(/\/$/, "") : address;
}

function createUnprotected({ name }: SignInServer, { host }: URL): SignInError {
  return new SignInError(`${name}: its sign-in at ${host} is not over https.`);
}

/**
 * `fetch` for one step of a sign-in: it ends in time, goes where it was sent and nowhere else (a redirect could take code
 * and secret along), and in clear to the configured server only.
 */
export function createSignInFetch(server: SignInServer, stepMs: number): FetchLike {
  const deadline = AbortSignal.timeout(stepMs);
  const fetch = openSignInFetch({ server: server.url.href, hosts: server.hosts });
  return async (address, init) => {
    const url = new URL(address);
    if (!isProtected(url) && url.origin !== server.url.origin) throw createUnprotected(server, url);
    const response = await fetch(url, { ...init, redirect: "manual", signal: deadline });
    if (response.status < 300 || response.status > 399) return boundAnswer(response, signInBytes);
    await response.body?.cancel();
    // Not fetch's own error, which the SDK takes for a browser's and answers by trying without what it looked for.
    throw new SignInError(`${server.name}: its sign-in at ${url.host} redirects, which is not followed.`);
  };
}
