import { randomBytes, timingSafeEqual } from "node:crypto";
import {
  exchangeAuthorization,
  registerClient,
  startAuthorization,
} from "@modelcontextprotocol/sdk/client/auth.js";
import type {
  AuthorizationServerMetadata,
  OAuthClientInformationMixed,
  OAuthTokens,
} from "@modelcontextprotocol/sdk/shared/auth.js";
import type { SignInSettings } from "../config.ts";
import type { Account } from "../../contracts/mcp-account.ts";
import { type BegunSignIn, SignInError } from "./begun.ts";
import { explainError } from "./explain-error.ts";
import { createSignInFetch, discoverSignIn, type FoundSignIn, type SignInServer } from "./discovery.ts";

const defaultStepMs = 15_000;

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

export interface SignInOptions {
  settings: SignInSettings;
  /** On loopback (RFC 8252, 7.3), or this Heddle's own over https. */
  redirectUrl: URL;
  /**
   * Where what a client must say of itself can be read: its address is then the client's id where the authorization
   * server takes such ones (https://datatracker.ietf.org/doc/draft-ietf-oauth-client-id-metadata-document/).
   */
  clientMetadataUrl?: URL | undefined;
  /** What a call was refused for want of, with blanks between the permissions; asked for beside the usual. */
  wanted?: string | undefined;
  now?: () => number;
  /** How long discovery, registration and the exchange of the code may each take. Default: 15 s. */
  stepMs?: number;
}

/**
 * Begins an authorization by code with PKCE, as the protocol asks for it
 * (https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization). The client is the one that the operator
 * names, the one of `clientMetadataUrl`, or one that registers itself (RFC 7591).
 *
 * @throws SignInError
 */
export async function beginSignIn(
  { name, url }: { name: string; url: URL },
  options: SignInOptions,
): Promise<SignIn> {
  const { settings, redirectUrl, wanted, now = Date.now, stepMs = defaultStepMs } = options;
  const { hosts } = settings;
  const server: SignInServer = { name, url, hosts };
  const found = await explainProblem(
    server,
    "it does not say where to sign in",
    discoverSignIn(server, stepMs),
  );
  const { authorizationServerUrl, authorizationServerMetadata: metadata, resourceMetadata } = found;
  // As it stands there: a server may compare it letter by letter.
  const resource = resourceMetadata?.resource;
  const scope = joinScopes(settings.scope ?? found.scope, wanted);
  const client = await explainProblem(
    server,
    "it registers no client by itself. Register one there by hand and give signIn.clientId in mcp.json",
    findClient(server, found, { ...options, scope, stepMs }),
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
    isIssuerPromised: found.isIssuerPromised,
    ...(metadata && { metadata: { ...metadata } }),
    ...(resource && { resource }),
    ...(hosts && { hosts: [...hosts] }),
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
  const { issuer, client, resource, isIssuerPromised, state, hosts } = begun;
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
      fetchFn: createSignInFetch({ ...server, hosts }, stepMs),
    }),
  );
  return {
    version: 1,
    ...{ server: server.url.href, issuer, client },
    ...(begun.metadata && { metadata: begun.metadata }),
    ...(hosts && { hosts }),
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
    throw new SignInError(`${server.name}: ${what}: ${explainError(error)}`);
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
    // Some say 0, or null, of a token that has no end.
    ...(expires_in !== undefined && expires_in > 0 && { expiresAt: now + expires_in * 1_000 }),
    ...(scope !== undefined && { scope }),
  };
}

/** Each permission once. */
function joinScopes(...scopes: (string | undefined)[]): string | undefined {
  const all = new Set(scopes.flatMap((scope) => scope?.split(/\s+/).filter(Boolean) ?? []));
  return all.size > 0 ? [...all].join(" ") : undefined;
}

async function findClient(
  server: SignInServer,
  { authorizationServerUrl, authorizationServerMetadata: metadata }: FoundSignIn,
  {
    settings: { clientId, clientSecret },
    redirectUrl,
    clientMetadataUrl,
    scope,
    stepMs,
  }: SignInOptions & { scope: string | undefined; stepMs: number },
): Promise<OAuthClientInformationMixed> {
  if (clientId !== undefined)
    return { client_id: clientId, ...(clientSecret !== undefined && { client_secret: clientSecret }) };
  if (clientMetadataUrl?.protocol === "https:" && metadata?.client_id_metadata_document_supported === true)
    return { client_id: clientMetadataUrl.href };
  return registerClient(authorizationServerUrl, {
    ...(metadata && { metadata }),
    ...(scope && { scope }),
    fetchFn: createSignInFetch(server, stepMs),
    clientMetadata: {
      ...describeClient(redirectUrl),
      token_endpoint_auth_method: chooseAuthMethod(metadata),
    },
  });
}

/** A program that runs at its operator's keeps no secret, unless the server wants one; it makes it out itself then. */
function chooseAuthMethod(metadata: FoundSignIn["authorizationServerMetadata"]): string {
  const supported = metadata?.token_endpoint_auth_methods_supported ?? ["none"];
  return (
    ["none", "client_secret_basic", "client_secret_post"].find((each) => supported.includes(each)) ?? "none"
  );
}

/** What a client says of itself (RFC 7591, 2), where it registers or in a document of its own. */
export function describeClient(redirectUrl: URL) {
  return {
    client_name: "Heddle",
    redirect_uris: [redirectUrl.href],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
    // OpenID Connect Dynamic Client Registration 1.0, 2: what comes back to loopback is a program of its user's.
    application_type: redirectUrl.protocol === "https:" ? "web" : "native",
  };
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
