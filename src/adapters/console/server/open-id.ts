import type { Redis } from "ioredis";
import type {
  ClientAuth,
  Configuration,
  CustomFetch,
  IDToken,
  ServerMetadata,
  UserInfoResponse,
} from "openid-client";
import { z } from "zod";
import { createSealedBox } from "../../../agent/sealed-box.ts";
import { type Identity, readSignInSecret } from "../../../operations/sign-ins.ts";
import { isName } from "./person.ts";

/** Our client at a provider of OpenID Connect. */
export interface OpenIdSettings {
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** As it is registered there. */
  redirectUri: string;
  /** The same, for when somebody has signed out there. */
  signedOutUri: string;
  scopes: readonly string[];
  /** The claim that is a person's name. */
  nameClaim: string;
  groupsClaim: string;
  /** Those that mean something here; no other group of a person is kept. */
  groups: readonly string[];
  /** For each request to the provider. Default: 10 s. */
  stepMs?: number;
}

/** `why` is for the log: no code, no token and no claim is in it. */
export type OpenIdResult<Value> =
  | { kind: "done"; value: Value }
  /** The person or the provider has said no. */
  | { kind: "declined"; why: string }
  /** It was not begun in this browser, or too long ago. */
  | { kind: "stale" }
  | { kind: "unreachable"; why: string }
  /** What came back is not to be believed. */
  | { kind: "invalid"; why: string };

/**
 * People sign in at a provider of OpenID Connect: authorization code with PKCE, state and nonce
 * (https://openid.net/specs/openid-connect-core-1_0.html#CodeFlowAuth). What has to be known when they come back is sealed in a
 * cookie of the browser, so that whoever asks for sign-ins by the million fills nothing, and any gateway can go on.
 */
export interface OpenId {
  /** Where to send the browser, and what it has to bring back. */
  begin(): Promise<OpenIdResult<{ address: URL; pending: string }>>;
  /** @param query what the provider has sent the browser back with */
  finish(query: URLSearchParams, pending: readonly string[]): Promise<OpenIdResult<SignedInAtProvider>>;
  /**
   * Where to send a browser that has been signed out here, so that it is at the provider too
   * (https://openid.net/specs/openid-connect-rpinitiated-1_0.html); undefined where the provider names no address.
   *
   * @param hints what {@link finish} gave this browser; without one the provider asks the person first
   */
  end(hints: readonly string[]): Promise<OpenIdResult<URL | undefined>>;
}

/** `hint`: the ID token, sealed, for the browser to keep until it is signed out; absent where it is too long for a cookie. */
export interface SignedInAtProvider {
  identity: Identity;
  hint?: string;
}

/** How long a person may take at the provider. */
export const pendingSeconds = 600;
const stepMs = 10_000;
/** After this time the provider is asked anew what it is. */
const knownForMs = 60 * 60_000;
const maxAnswerBytes = 1_000_000;
/** Browsers keep cookies of some 4,000 characters. */
const maxHintChars = 3_600;

const pendingSchema = z.strictObject({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  until: z.number(),
});

/** The provider did not answer in time, or not at all. */
class UnreachableError extends Error {
  override readonly name = "UnreachableError";
}

/** @param now for what is ours; the times in tokens are compared with this host's clock */
export function createOpenId(redis: Redis, settings: OpenIdSettings, now: () => number): OpenId {
  const { redirectUri, clientId } = settings;
  const provider = rememberProvider(settings, now);
  const openBox = async () =>
    createSealedBox(await readSignInSecret(redis), `sign-in ${redirectUri} ${clientId}`);

  return {
    begin: () =>
      settle(async () => {
        // It is read by those only who have people sign in.
        const library = await import("openid-client");
        const config = await provider();
        const [state, nonce] = [library.randomState(), library.randomNonce()];
        const verifier = library.randomPKCECodeVerifier();
        const address = library.buildAuthorizationUrl(config, {
          redirect_uri: redirectUri,
          scope: settings.scopes.join(" "),
          ...{ state, nonce },
          code_challenge: await library.calculatePKCECodeChallenge(verifier),
          code_challenge_method: "S256",
        });
        const until = now() + pendingSeconds * 1_000;
        const pending = (await openBox()).seal(
          JSON.stringify({ state, nonce, verifier, until }),
          redirectUri,
        );
        return { kind: "done", value: { address, pending } };
      }),

    finish: (query, pending) =>
      settle(async () => {
        const box = await openBox();
        const begun = pending
          .map((sealed) => openPending(() => box.open(sealed, redirectUri)))
          .find((one) => one?.state === query.get("state"));
        if (!begun || begun.until <= now()) return { kind: "stale" };
        const library = await import("openid-client");
        const config = await configure((await provider()).serverMetadata(), settings);
        const returned = new URL(`${redirectUri}?${query.toString()}`);
        const tokens = await library.authorizationCodeGrant(config, returned, {
          pkceCodeVerifier: begun.verifier,
          expectedState: begun.state,
          expectedNonce: begun.nonce,
          idTokenExpected: true,
        });
        const claims = tokens.claims();
        if (!claims) return { kind: "invalid", why: "there is no ID token" };
        const says = (claim: string) => claims[claim] !== undefined;
        const isWhole =
          says(settings.nameClaim) && (settings.groups.length === 0 || says(settings.groupsClaim));
        // Some tell more when they are asked with the token. The library checks that it is the same person.
        const info =
          isWhole || config.serverMetadata().userinfo_endpoint === undefined
            ? undefined
            : await library.fetchUserInfo(config, tokens.access_token, claims.sub);
        const read = readIdentity(claims, info, settings);
        if (read.kind !== "done") return read;
        const hint = box.seal(tokens.id_token ?? "", settings.signedOutUri);
        return {
          kind: "done",
          value: { identity: read.value, ...(hint.length <= maxHintChars && { hint }) },
        };
      }),

    end: (hints) =>
      settle(async () => {
        const box = await openBox();
        const token = hints
          .map((sealed) => openText(() => box.open(sealed, settings.signedOutUri)))
          .find((one) => one !== undefined);
        const library = await import("openid-client");
        const config = await provider();
        const { end_session_endpoint: end } = config.serverMetadata();
        if (end === undefined) return { kind: "done", value: undefined };
        if (!isWebAddress(end, settings))
          return { kind: "invalid", why: "the provider's end_session_endpoint is no address of the web" };
        const address = library.buildEndSessionUrl(config, {
          post_logout_redirect_uri: settings.signedOutUri,
          ...(token !== undefined && { id_token_hint: token }),
        });
        return { kind: "done", value: address };
      }),
  };
}

/** Whether the provider can be asked what it is; undefined where it can. */
export async function findProviderProblem(settings: OpenIdSettings): Promise<string | undefined> {
  const found = await settle(async () => ({ kind: "done", value: await discover(settings) }));
  return "why" in found ? found.why : undefined;
}

/** What the provider is, asked once for all who wait, and again when that is old or could not be had. */
function rememberProvider(settings: OpenIdSettings, now: () => number): () => Promise<Configuration> {
  let known: { config: Promise<Configuration>; until: number } | undefined;
  return () => {
    if (!known || known.until <= now()) {
      const asked = { config: discover(settings), until: now() + knownForMs };
      known = asked;
      asked.config.catch(() => {
        if (known === asked) known = undefined;
      });
    }
    return known.config;
  };
}

async function discover(settings: OpenIdSettings): Promise<Configuration> {
  const library = await import("openid-client");
  const { issuer, clientId } = settings;
  const found = await library.discovery(new URL(issuer), clientId, undefined, library.None(), {
    [library.customFetch]: createFetch(settings.stepMs ?? stepMs),
    execute: isHere(settings) ? [library.allowInsecureRequests] : [],
  });
  const { authorization_endpoint: address } = found.serverMetadata();
  // The library follows its other addresses itself, and refuses what it cannot follow; this one a browser is sent to.
  if (address === undefined || !isWebAddress(address, settings))
    throw new library.ClientError("the provider's authorization_endpoint is no address of the web");
  return await configure(found.serverMetadata(), settings);
}

/**
 * For one sign-in: the library keeps the provider's keys with it for five minutes, and would take a token signed with
 * one that has just come for a forged one.
 */
async function configure(metadata: ServerMetadata, settings: OpenIdSettings): Promise<Configuration> {
  const library = await import("openid-client");
  const { clientId, clientSecret } = settings;
  // A provider has to take the secret in a header (RFC 6749, 2.3.1), unless it says that it wants it otherwise.
  const authenticate: ClientAuth = (server, ...rest) => {
    const { token_endpoint_auth_methods_supported: methods = ["client_secret_basic"] } = server;
    const inBody = !methods.includes("client_secret_basic") && methods.includes("client_secret_post");
    (inBody ? library.ClientSecretPost : library.ClientSecretBasic)(clientSecret)(server, ...rest);
  };
  const config = new library.Configuration(metadata, clientId, undefined, authenticate);
  config[library.customFetch] = createFetch(settings.stepMs ?? stepMs);
  // Without it the library would take the connection's word for who has made a token.
  library.enableNonRepudiationChecks(config);
  if (isHere(settings)) library.allowInsecureRequests(config);
  return config;
}

/** The settings allow plain http for a provider on this machine only. */
function isHere({ issuer }: OpenIdSettings): boolean {
  return issuer.startsWith("http:");
}

function isWebAddress(text: string, settings: OpenIdSettings): boolean {
  const kinds = isHere(settings) ? ["http:", "https:"] : ["https:"];
  return kinds.includes(URL.parse(text)?.protocol ?? "");
}

/** One request, which ends in time with an answer of bounded size. A redirect is not followed: a code and a secret would go along. */
function createFetch(ms: number): CustomFetch {
  return async (address, { method, headers, body }) => {
    try {
      const signal = AbortSignal.timeout(ms);
      const init = { method, headers, signal, redirect: "manual" as const };
      // The library sends forms, and nothing else.
      const response = await fetch(address, body instanceof URLSearchParams ? { ...init, body } : init);
      const { status } = response;
      const bytes = await readBounded(response);
      return new Response(bytes.length > 0 ? bytes : null, { status, headers: response.headers });
    } catch (error) {
      if (error instanceof UnreachableError) throw error;
      const why =
        error instanceof Error && error.name === "TimeoutError" ? "no answer in time" : "no connection";
      throw new UnreachableError(`${new URL(address).host}: ${why}`);
    }
  };
}

async function readBounded(response: Response): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > maxAnswerBytes)
      throw new UnreachableError(
        `${new URL(response.url).host}: an answer of more than ${maxAnswerBytes} bytes`,
      );
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function settle<Value>(act: () => Promise<OpenIdResult<Value>>): Promise<OpenIdResult<Value>> {
  try {
    return await act();
  } catch (error) {
    // The library may have put its own error around it.
    const cause = error instanceof Error && error.cause instanceof UnreachableError ? error.cause : error;
    if (cause instanceof UnreachableError) return { kind: "unreachable", why: cause.message };
    const library = await import("openid-client");
    if (error instanceof library.AuthorizationResponseError)
      return { kind: "declined", why: toWord(error.error) };
    if (error instanceof library.ResponseBodyError)
      return { kind: "invalid", why: `the provider refuses it: ${toWord(error.error)}` };
    const isLibrarys = error instanceof library.ClientError || error instanceof TypeError;
    if (!isLibrarys) throw error;
    return { kind: "invalid", why: describe(error) };
  }
}

/** An error code is a word; what is longer is somebody else's text. */
function toWord(error: string): string {
  return /^[\w.-]{1,60}$/.exec(error)?.[0] ?? "an error without a name";
}

/** Its own words and those of its cause, which name what does not fit, and no value. */
function describe(error: Error): string {
  const { cause, message } = error;
  const words = [message, ...(cause instanceof Error && cause.message !== message ? [cause.message] : [])];
  const codes = [error, cause].map((one) => (one instanceof Error && "code" in one ? one.code : undefined));
  // https://github.com/panva/oauth4webapi/blob/main/docs/variables/JWT_TIMESTAMP_CHECK.md
  if (codes.includes("OAUTH_JWT_TIMESTAMP_CHECK_FAILED"))
    words.push("compare this host's clock with the provider's");
  return words.join(": ");
}

function openPending(open: () => string): z.infer<typeof pendingSchema> | undefined {
  const text = openText(open);
  return text === undefined ? undefined : pendingSchema.safeParse(JSON.parse(text)).data;
}

function openText(open: () => string): string | undefined {
  try {
    return open();
  } catch {
    // Of another Heddle, or of nobody's.
    return undefined;
  }
}

function readIdentity(
  claims: IDToken,
  info: UserInfoResponse | undefined,
  { nameClaim, groupsClaim, groups }: OpenIdSettings,
): OpenIdResult<Identity> {
  const says = claims[nameClaim] === undefined && info ? info : claims;
  const name = says[nameClaim];
  if (typeof name !== "string" || !isName(name.trim()))
    return { kind: "invalid", why: `the provider does not tell the claim ${nameClaim}, or no name in it` };
  // Anybody may write any address into an account of theirs.
  if (nameClaim === "email" && ![true, "true"].includes(says["email_verified"] as boolean))
    return { kind: "invalid", why: "the provider has not verified the person's email" };
  const told = claims[groupsClaim] ?? info?.[groupsClaim];
  const own = new Set(Array.isArray(told) ? told : [told]);
  return { kind: "done", value: { name: name.trim(), groups: groups.filter((group) => own.has(group)) } };
}
