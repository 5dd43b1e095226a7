import { randomBytes, timingSafeEqual } from "node:crypto";
import {
  discoverOAuthServerInfo,
  exchangeAuthorization,
  type OAuthServerInfo,
  registerClient,
  startAuthorization,
} from "@modelcontextprotocol/sdk/client/auth.js";
import type { OAuthClientInformationMixed, OAuthTokens } from "@modelcontextprotocol/sdk/shared/auth.js";
import { checkResourceAllowed } from "@modelcontextprotocol/sdk/shared/auth-utils.js";
import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { SignInSettings } from "../config.ts";
import type { Account } from "../../mcp-account.ts";

/** How long each answer of a sign-in may take, ms. */
const answerMs = 15_000;

/** Why somebody could not sign in: a sentence for that person. */
export class SignInError extends Error {
  override readonly name = "SignInError";
}

export interface SignIn {
  /** Where the person signs in. */
  readonly url: URL;
  /**
   * Ends it with the address that the person's browser was sent to.
   *
   * @throws SignInError
   */
  finish(returned: URL): Promise<Account>;
}

/**
 * Begins an authorization by code with PKCE, as the protocol asks for it
 * (https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization): the resource's metadata (RFC 9728),
 * the authorization server's (RFC 8414), registration (RFC 7591) where the operator names no client.
 *
 * The addresses come from the other side: each answer must come within its time and from the address that was asked.
 *
 * @param redirectUrl on loopback (RFC 8252, 7.3)
 * @throws SignInError
 */
export async function beginSignIn(
  server: { name: string; url: URL },
  {
    settings,
    redirectUrl,
    now = Date.now,
    timeoutMs = answerMs,
  }: { settings: SignInSettings; redirectUrl: URL; now?: () => number; timeoutMs?: number },
): Promise<SignIn> {
  const fetchFn = createSignInFetch(timeoutMs);
  const explainProblem = async <T>(what: string, work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      throw new SignInError(
        `${server.name}: ${what}: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
  };
  const found = await explainProblem(
    "it does not say where to sign in",
    discoverOAuthServerInfo(server.url, { fetchFn }),
  );
  checkServer(server, found);
  const { authorizationServerUrl, authorizationServerMetadata: metadata, resourceMetadata } = found;
  // As it stands there: a server may compare it letter by letter.
  const resource = resourceMetadata?.resource;
  const scope = settings.scope ?? resourceMetadata?.scopes_supported?.join(" ");
  const client = await explainProblem(
    "it registers no client by itself. Register one there by hand and give signIn.clientId in mcp.json",
    findClient(found, { settings, redirectUrl, scope, fetchFn }),
  );
  const state = randomBytes(24).toString("base64url");
  const { authorizationUrl, codeVerifier } = await explainProblem(
    "it cannot be signed in to",
    startAuthorization(authorizationServerUrl, {
      ...(metadata && { metadata }),
      clientInformation: client,
      redirectUrl,
      state,
      ...(scope && { scope }),
      ...(resource && { resource }),
    }),
  );
  return {
    url: authorizationUrl,
    async finish(returned) {
      const code = readCode(server.name, returned, {
        ...{ state, issuer: metadata?.issuer },
        promisesIssuer: promisesIssuer(metadata),
      });
      const tokens = await explainProblem(
        "the sign-in was not accepted",
        exchangeAuthorization(authorizationServerUrl, {
          ...(metadata && { metadata }),
          clientInformation: client,
          authorizationCode: code,
          codeVerifier,
          redirectUri: redirectUrl,
          fetchFn,
          ...(resource && { resource }),
        }),
      );
      return {
        version: 1,
        server: server.url.href,
        issuer: authorizationServerUrl,
        ...(metadata && { metadata: { ...metadata } }),
        ...(resource !== undefined && { resource }),
        client: { ...client },
        ...takeTokens(tokens, now()),
      };
    },
  };
}

/** What an answer of the token endpoint says, with the time as it is here. */
export function takeTokens(
  { access_token, refresh_token, expires_in, scope }: OAuthTokens,
  now: number,
): Pick<Account, "accessToken" | "refreshToken" | "expiresAt" | "scope"> {
  return {
    accessToken: access_token,
    ...(refresh_token !== undefined && { refreshToken: refresh_token }),
    ...(expires_in !== undefined && { expiresAt: now + expires_in * 1_000 }),
    ...(scope !== undefined && { scope }),
  };
}

/** A server may not have tokens made out for another one, nor send anybody to where others can listen. */
function checkServer(server: { name: string; url: URL }, found: OAuthServerInfo): void {
  const { authorizationServerMetadata: metadata, authorizationServerUrl, resourceMetadata } = found;
  if (
    resourceMetadata &&
    !checkResourceAllowed({ requestedResource: server.url, configuredResource: resourceMetadata.resource })
  )
    throw new SignInError(
      `${server.name}: it names another resource (${resourceMetadata.resource}) than its own address.`,
    );
  const { authorization_endpoint, token_endpoint, registration_endpoint } = metadata ?? {};
  const addresses = [authorizationServerUrl, authorization_endpoint, token_endpoint, registration_endpoint];
  for (const address of addresses) {
    const url = address === undefined ? undefined : URL.parse(address);
    if (url && !isProtected(url))
      throw new SignInError(`${server.name}: its sign-in at ${url.host} is not over https.`);
  }
  if (metadata?.code_challenge_methods_supported?.includes("S256") === false)
    throw new SignInError(
      `${server.name}: its sign-in does not know PKCE with S256, which keeps a code from being stolen.`,
    );
}

/** RFC 9207, 3. The SDK keeps what it does not know. */
function promisesIssuer(metadata: Readonly<Record<string, unknown>> = {}): boolean {
  return metadata["authorization_response_iss_parameter_supported"] === true;
}

/** A redirect would take a code or a secret along to wherever it leads, or reach what only this machine can reach. */
function createSignInFetch(timeoutMs: number): FetchLike {
  return (address, init) =>
    fetch(address, { ...init, redirect: "error", signal: AbortSignal.timeout(timeoutMs) });
}

function isProtected({ protocol, hostname }: URL): boolean {
  return protocol === "https:" || ["127.0.0.1", "[::1]", "localhost"].includes(hostname);
}

async function findClient(
  { authorizationServerUrl, authorizationServerMetadata: metadata }: OAuthServerInfo,
  {
    settings: { clientId, clientSecret },
    redirectUrl,
    scope,
    fetchFn,
  }: { settings: SignInSettings; redirectUrl: URL; scope: string | undefined; fetchFn: FetchLike },
): Promise<OAuthClientInformationMixed> {
  if (clientId !== undefined)
    return { client_id: clientId, ...(clientSecret !== undefined && { client_secret: clientSecret }) };
  return registerClient(authorizationServerUrl, {
    fetchFn,
    ...(metadata && { metadata }),
    ...(scope && { scope }),
    clientMetadata: {
      client_name: "Heddle",
      redirect_uris: [redirectUrl.href],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    },
  });
}

/** @throws SignInError */
function readCode(
  name: string,
  { searchParams }: URL,
  expected: { state: string; issuer: string | undefined; promisesIssuer: boolean },
): string {
  if (!isSame(searchParams.get("state") ?? "", expected.state))
    throw new SignInError(`${name}: this is not the answer to the sign-in that was begun here. Begin again.`);
  // RFC 9207, 2.4: an answer that another server has sent, or that does not say whose it is where it should. Its other
  // words are then not to be believed.
  const issuer = searchParams.get("iss");
  const isAnothers = issuer !== null && expected.issuer !== undefined && issuer !== expected.issuer;
  if (isAnothers || (issuer === null && expected.promisesIssuer))
    throw new SignInError(`${name}: the answer comes from another server than the one that was asked.`);
  const code = searchParams.get("code");
  if (code !== null && code !== "") return code;
  const reason = /^[\w.-]{1,60}$/.exec(searchParams.get("error") ?? "")?.[0] ?? "no code";
  throw new SignInError(`${name}: the sign-in was refused (${reason}).`);
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
