import { randomBytes, timingSafeEqual } from "node:crypto";
import {
  discoverOAuthServerInfo,
  exchangeAuthorization,
  type OAuthServerInfo,
  registerClient,
  startAuthorization,
} from "@modelcontextprotocol/sdk/client/auth.js";
import type {
  AuthorizationServerMetadata,
  OAuthClientInformationMixed,
  OAuthTokens,
} from "@modelcontextprotocol/sdk/shared/auth.js";
import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport.js";
import { checkResourceAllowed } from "@modelcontextprotocol/sdk/shared/auth-utils.js";
import { z } from "zod";
import { boundAnswer } from "../bounded-answer.ts";
import type { SignInSettings } from "../config.ts";
import type { Account } from "../../mcp-account.ts";
import { type BegunSignIn, isProtected, SignInError } from "./begun.ts";

const defaultStepMs = 15_000;

/** The longest answer of a sign-in that is read: metadata, a registration or tokens are a few KiB. */
export const signInBytes = 256 * 1024;

const promiseSchema = z.object({
  issuer: z.string(),
  authorization_response_iss_parameter_supported: z.literal(true),
});

export interface SignIn {
  /** Where the person signs in. */
  readonly url: URL;
  /** For {@link finishSignIn} in another process, or later. */
  readonly begun: BegunSignIn;
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
 * @param redirectUrl on loopback (RFC 8252, 7.3), or this Heddle's own over https
 * @throws SignInError
 */
export async function beginSignIn(
  server: { name: string; url: URL },
  {
    settings,
    redirectUrl,
    now = Date.now,
    stepMs = defaultStepMs,
  }: {
    settings: SignInSettings;
    redirectUrl: URL;
    now?: () => number;
    /** How long discovery, registration and the exchange of the code may each take. Default: 15 s. */
    stepMs?: number;
  },
): Promise<SignIn> {
  const promising = new Set<string>();
  const found = await explainProblem(
    server,
    "it does not say where to sign in",
    discoverOAuthServerInfo(server.url, { fetchFn: noteIssuers(createFetch(server, stepMs), promising) }),
  );
  checkServer(server, found);
  const { authorizationServerUrl, authorizationServerMetadata: metadata, resourceMetadata } = found;
  // As it stands there: a server may compare it letter by letter.
  const resource = resourceMetadata?.resource;
  const scope = settings.scope ?? resourceMetadata?.scopes_supported?.join(" ");
  const client = await explainProblem(
    server,
    "it registers no client by itself. Register one there by hand and give signIn.clientId in mcp.json",
    findClient(found, { settings, redirectUrl, scope, fetchFn: createFetch(server, stepMs) }),
  );
  const state = randomBytes(24).toString("base64url");
  const { authorizationUrl, codeVerifier } = await explainProblem(
    server,
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
  const begun: BegunSignIn = {
    ...{ state, codeVerifier, issuer: authorizationServerUrl, redirect: redirectUrl.href },
    isIssuerPromised: promising.size > 0,
    ...(metadata && { metadata: { ...metadata } }),
    ...(resource && { resource }),
    client: { ...client },
  };
  return {
    url: authorizationUrl,
    begun,
    finish: (returned) => finishSignIn(server, begun, returned, { now, stepMs }),
  };
}

/**
 * Ends a sign-in with the address that the person's browser was sent to; in any process that has what was begun.
 *
 * @throws SignInError
 */
export async function finishSignIn(
  server: { name: string; url: URL },
  begun: BegunSignIn,
  returned: URL,
  { now = Date.now, stepMs = defaultStepMs }: { now?: () => number; stepMs?: number } = {},
): Promise<Account> {
  const { issuer, client, resource, isIssuerPromised, state } = begun;
  // Stored as the SDK has parsed it.
  const metadata = begun.metadata as AuthorizationServerMetadata | undefined;
  const code = readCode(server.name, returned, {
    state,
    issuer: metadata?.issuer ?? issuer,
    isIssuerPromised,
  });
  const tokens = await explainProblem(
    server,
    "the sign-in was not accepted",
    exchangeAuthorization(issuer, {
      ...(metadata && { metadata }),
      clientInformation: client,
      authorizationCode: code,
      codeVerifier: begun.codeVerifier,
      redirectUri: begun.redirect,
      ...(resource !== undefined && { resource }),
      fetchFn: createFetch(server, stepMs),
    }),
  );
  return {
    version: 1,
    ...{ server: server.url.href, issuer, client },
    ...(begun.metadata && { metadata: begun.metadata }),
    ...(resource !== undefined && { resource }),
    ...takeTokens(tokens, now()),
  };
}

/** @throws SignInError */
async function explainProblem<T>(server: { name: string }, what: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof SignInError) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new SignInError(`${server.name}: ${what}: ${why}`);
  }
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
  // RFC 8414, 3.3, letter by letter but for the slash of an empty path, which RFC 3986, 6.2.3 makes no difference of:
  // whoever names another's issuer could pass for it where answers are told apart by it.
  if (metadata && normalizeIssuer(metadata.issuer) !== normalizeIssuer(authorizationServerUrl))
    throw new SignInError(
      `${server.name}: its sign-in names another issuer than the address that it was found at.`,
    );
  if (metadata?.code_challenge_methods_supported?.includes("S256") === false)
    throw new SignInError(
      `${server.name}: its sign-in does not know PKCE with S256, which keeps a code from being stolen.`,
    );
}

function normalizeIssuer(issuer: string): string {
  return URL.parse(issuer)?.pathname === "/" ? issuer.replace(/\/$/, "") : issuer;
}

function createUnprotected({ name }: { name: string }, { host }: URL): SignInError {
  return new SignInError(`${name}: its sign-in at ${host} is not over https.`);
}

/**
 * `fetch` for one step of a sign-in, whose addresses the server has chosen: it ends in time, goes where it was sent and
 * nowhere else (a redirect could take code and secret along), and in clear to the configured server only.
 */
function createFetch(server: { name: string; url: URL }, stepMs: number): FetchLike {
  const deadline = AbortSignal.timeout(stepMs);
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

/**
 * Notes the issuers whose metadata promises `iss` in answers (RFC 9207, 3), as they are fetched: the SDK drops that
 * field from the metadata of OpenID providers.
 */
function noteIssuers(fetchFn: FetchLike, promising: Set<string>): FetchLike {
  return async (address, init) => {
    const response = await fetchFn(address, init);
    const metadata: unknown = await response
      .clone()
      .json()
      .catch(() => undefined);
    const said = promiseSchema.safeParse(metadata);
    if (said.success) promising.add(said.data.issuer);
    return response;
  };
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
    ...(metadata && { metadata }),
    ...(scope && { scope }),
    fetchFn,
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
  expected: { state: string; issuer: string; isIssuerPromised: boolean },
): string {
  if (!isSame(searchParams.get("state") ?? "", expected.state))
    throw new SignInError(`${name}: this is not the answer to the sign-in that was begun here. Begin again.`);
  // RFC 9207, 2.4: an answer that another server has sent. Its other words, an error too, are then not to be believed.
  const issuers = searchParams.getAll("iss");
  if (issuers.some((issuer) => issuer !== expected.issuer))
    throw new SignInError(`${name}: the answer comes from another server than the one that was asked.`);
  if (issuers.length === 0 && expected.isIssuerPromised)
    throw new SignInError(
      `${name}: the answer does not say which server it comes from, as that server does.`,
    );
  const code = searchParams.get("code");
  if (code !== null && code !== "") return code;
  const reason = /^[\w.-]{1,60}$/.exec(searchParams.get("error") ?? "")?.[0] ?? "no code";
  throw new SignInError(`${name}: the sign-in was refused (${reason}).`);
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
