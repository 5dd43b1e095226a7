import type { ClientAuth, Configuration, CustomFetch, ServerMetadata } from "openid-client";

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

const stepMs = 10_000;
/** After this time the provider is asked anew what it is. */
const knownForMs = 60 * 60_000;
const maxAnswerBytes = 1_000_000;

/** The provider did not answer in time, or not at all. */
class UnreachableError extends Error {
  override readonly name = "UnreachableError";
}

/** Whether the provider can be asked what it is; undefined where it can. */
export async function findProviderProblem(settings: OpenIdSettings): Promise<string | undefined> {
  const found = await settleRequest(async () => ({ kind: "done", value: await discover(settings) }));
  return "why" in found ? found.why : undefined;
}

/** What the provider is, asked once for all who wait, and again when that is old or could not be had. */
export function rememberProvider(settings: OpenIdSettings, now: () => number): () => Promise<Configuration> {
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
  return await configureClient(found.serverMetadata(), settings);
}

/**
 * For one sign-in: the library keeps the provider's keys with it for five minutes, and would take a token signed with
 * one that has just come for a forged one.
 */
export async function configureClient(
  metadata: ServerMetadata,
  settings: OpenIdSettings,
): Promise<Configuration> {
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

/** Whether a browser may be sent to what the provider names. */
export function isWebAddress(text: string, settings: OpenIdSettings): boolean {
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

/** Makes a result of what a request to the provider has thrown; what is no fault of theirs is thrown on. */
export async function settleRequest<Value>(
  act: () => Promise<OpenIdResult<Value>>,
): Promise<OpenIdResult<Value>> {
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
