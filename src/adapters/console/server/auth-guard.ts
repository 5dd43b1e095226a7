import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import {
  type AccessToken,
  type AccessTokens,
  isAccessToken,
  looksLikeAccessToken,
} from "../../../operations/people/access-tokens.ts";
import type { Identity, SignIns } from "../../../operations/people/sign-ins.ts";
import { createAttemptLimit } from "./attempt-limit.ts";
import { type AddressList, createAddressList } from "./client-address.ts";
import { consoleCookie, isSecure, readCookies, writeCookie } from "./cookies.ts";
import { checkOrigin, type Refusal, signInPath } from "./origin.ts";
import {
  consoleOperator,
  describeNamedPerson,
  findRole,
  identify,
  type IdentityHeader,
  type Person,
  type RoleTable,
} from "./person.ts";

/** `by`: whether a token says so, and which, or the cookie of a browser that is signed in; nothing where neither is needed. */
export type Authenticated = { ok: true; person: Person; by?: Proof } | { ok: false; refusal: Refusal };

/** `isOfProvider`: the cookie of somebody whom the provider has signed in. */
type Proof = { token: string } | { cookie: string; isOfProvider?: true };

/**
 * Who may talk to the console.
 *
 * A page of another site must not (it could otherwise steer the agent from within the person's browser): a
 * request has to name this console as its host, which DNS rebinding cannot fake, and as its origin. Where other
 * machines reach the console, a token is needed as well; the page trades it once for a cookie. People with tokens of their
 * own, or whom a named proxy or a provider names, are themselves; everybody else is the operator.
 */
export interface AuthGuard {
  /** Null when the request comes from this console's own page or from a program that is no browser. */
  checkOrigin(request: IncomingMessage): Refusal | null;
  /** Who sends the request: as cookie or `Authorization: Bearer` it carries a token, unless none is needed. */
  authenticate(request: IncomingMessage): Promise<Authenticated>;
  /** Signs in the browser that has shown a token; the `Set-Cookie` value of it. Undefined where it has shown none. */
  signIn(request: IncomingMessage, by: Proof | undefined): Promise<string | undefined>;
  /** Signs in the browser of somebody whom the provider has named; undefined for those who have no role here. */
  admit(identity: Identity): Promise<{ person: Person; cookie: string } | undefined>;
  /** Ends the cookie that the request carries; the `Set-Cookie` value that removes it. */
  signOut(request: IncomingMessage, by: Proof | undefined): Promise<string>;
}

const loopbackNames = ["127.0.0.1", "localhost", "[::1]"];

/** How long a browser stays signed in that has shown a token, which can be revoked meanwhile. */
const tokenSeconds = 30 * 24 * 60 * 60;
/** The same where a provider has said who it is, which does not tell us when somebody has left. */
export const providerSeconds = 12 * 60 * 60;

/** The provider of OpenID Connect at which people sign in. */
export interface ProviderSettings {
  /** Tells it, and our client there, from those of other settings. */
  id: string;
  /** Where the console is opened; over https its cookies are sent over https only. */
  address: string;
  roles: RoleTable;
}

/** A shorter token could be guessed over the network. */
const leastTokenChars = 16;

/** Long enough to walk from the terminal to the browser. */
const loginCodeMs = 15 * 60_000;
/**
 * What is wrong with these settings, in one sentence; null when the console may start.
 *
 * @param hasProvider whether people sign in at a provider
 */
export function findUnsafeSettings(
  host: string,
  token: string | undefined,
  hasProvider = false,
): string | null {
  if (token === undefined) {
    if (isLoopback(host) || hasProvider) return null;
    return (
      `The console would be open to everybody who reaches ${host}: ` +
      "set HEDDLE_CONSOLE_TOKEN to a long random text, or HEDDLE_HOST to 127.0.0.1."
    );
  }
  if (token.length >= leastTokenChars) return null;
  return `HEDDLE_CONSOLE_TOKEN is too easy to guess: it needs at least ${leastTokenChars} characters.`;
}

/** The second is that of the version before. */
const signInPaths = ["/api/v1/session", "/api/session"];

const unauthorizedByProvider: Refusal = {
  status: 401,
  error: "Sign in with your account, or with a token.",
  signIn: signInPath,
};

const unauthorized: Refusal = {
  status: 401,
  error:
    "The console needs its token: HEDDLE_CONSOLE_TOKEN in Heddle's settings, or the file console.token in its data folder.",
};

const wrongToken = "This token is wrong, revoked or expired: `heddle tokens create` makes another one.";

const unknownPerson: Refusal = {
  status: 403,
  error: "You are signed in, but have no role here: ask whoever runs Heddle to add you to console.people.",
};

const tooManyWrong: Refusal = {
  status: 429,
  error: "Too many wrong tokens came from this address: wait a minute, then try again.",
};

export function createAuthGuard(settings: {
  host: string;
  token: string | undefined;
  /** Stands for the token at one `POST /api/session` in the first minutes. */
  loginCode?: string | undefined;
  /** Whose `X-Forwarded-For` counts; by default nobody's. */
  proxies?: AddressList;
  /** By which they say who somebody is. */
  identity?: IdentityHeader | undefined;
  /** Where it is set, nobody is the operator for want of a name. */
  provider?: ProviderSettings | undefined;
  /** The tokens of people; without them there is only the console's. */
  tokens?: Pick<AccessTokens, "find"> | undefined;
  /** Without them nobody signs in, and each request carries a token. */
  signIns?: SignIns | undefined;
  now?: () => number;
}): AuthGuard {
  const {
    host,
    token,
    proxies = createAddressList([]),
    identity,
    provider,
    tokens,
    signIns,
    now = Date.now,
  } = settings;
  const login = { code: settings.loginCode, until: now() + loginCodeMs };
  // With a token or a provider, names do not matter (behind a proxy they are anything): the cookie is bound to the name under
  // which it was given, so a rebound name has none.
  const names = token === undefined && !provider ? new Set([...loopbackNames, host]) : null;
  // Whoever is signed in with a token that is another one by now is so no longer.
  const ownToken = token === undefined ? undefined : `console ${digest(token).toString("hex")}`;
  const wrong = createAttemptLimit(proxies, now);
  const refusal = provider ? unauthorizedByProvider : unauthorized;

  const takesLoginCode = ({ method, url }: IncomingMessage, bearer: string): boolean => {
    if (login.code === undefined || now() >= login.until) return false;
    if (method !== "POST" || !signInPaths.includes(url ?? "") || !isEqual(bearer, login.code)) return false;
    login.code = undefined;
    return true;
  };

  const isTrustedProxy = ({ socket }: IncomingMessage): boolean =>
    identity !== undefined && proxies.has(socket.remoteAddress ?? "");

  const checkBearer = async (request: IncomingMessage, bearer: string): Promise<Authenticated> => {
    if (wrong.areTooMany(request)) return { ok: false, refusal: tooManyWrong };
    const isOwn = token !== undefined && isEqual(bearer, token);
    if (ownToken !== undefined && (isOwn || takesLoginCode(request, bearer)))
      return { ok: true, person: consoleOperator(), by: { token: ownToken } };
    const found = isAccessToken(bearer) ? await tokens?.find({ token: bearer }) : undefined;
    if (found) return { ok: true, person: toPerson(found), by: { token: found.id } };
    wrong.add(request);
    return { ok: false, refusal: looksLikeAccessToken(bearer) ? { ...refusal, error: wrongToken } : refusal };
  };

  const checkCookies = async (request: IncomingMessage): Promise<Authenticated | undefined> => {
    for (const cookie of readCookies(request, consoleCookie)) {
      const shown = await signIns?.find(cookie);
      if (!shown) continue;
      const { by } = shown;
      if (provider && by === provider.id && shown.identity) {
        // The settings may say something else by now.
        const person = findPerson(shown.identity, provider.roles);
        if (person) return { ok: true, person, by: { cookie, isOfProvider: true } };
        continue;
      }
      if (by === ownToken) return { ok: true, person: consoleOperator(), by: { cookie } };
      const found = await tokens?.find({ id: by });
      if (found) return { ok: true, person: toPerson(found), by: { cookie } };
    }
    return undefined;
  };

  return {
    // Behind a proxy that signs people in names are anything, and what it knows them by is bound to its own.
    checkOrigin: (request) => checkOrigin(request, isTrustedProxy(request) ? null : names),

    async authenticate(request) {
      const identified = identify(request, identity, proxies);
      if (identified.kind === "person") return { ok: true, person: identified.person };
      if (identified.kind === "unknown") return { ok: false, refusal: unknownPerson };
      const bearer = readBearer(request);
      if (bearer !== undefined && (token !== undefined || looksLikeAccessToken(bearer)))
        return await checkBearer(request, bearer);
      const signedIn = await checkCookies(request);
      if (signedIn) return signedIn;
      // Where a proxy should have named somebody, nobody is the operator for want of a name.
      if (token === undefined && !provider && !isTrustedProxy(request))
        return { ok: true, person: consoleOperator() };
      return { ok: false, refusal };
    },

    async signIn(request, by) {
      if (!signIns || !by || !("token" in by)) return undefined;
      const cookie = await signIns.begin({ by: by.token }, tokenSeconds);
      return writeCookie(consoleCookie, cookie, { seconds: tokenSeconds, secure: isSecure(request) });
    },

    async admit(whom) {
      const person = provider && findPerson(whom, provider.roles);
      if (!provider || !signIns || !person) return undefined;
      const cookie = await signIns.begin({ by: provider.id, identity: whom }, providerSeconds);
      const attributes = { seconds: providerSeconds, secure: provider.address.startsWith("https:") };
      return { person, cookie: writeCookie(consoleCookie, cookie, attributes) };
    },

    async signOut(request, by) {
      if (by && "cookie" in by) await signIns?.end(by.cookie);
      return writeCookie(consoleCookie, "", { seconds: 0, secure: isSecure(request) });
    },
  };
}

function findPerson(identity: Identity, roles: RoleTable): Person | undefined {
  const role = findRole(identity, roles);
  return role && describeNamedPerson(identity.name, role);
}

function readBearer({ headers }: IncomingMessage): string | undefined {
  return /^Bearer (.+)$/i.exec(headers.authorization ?? "")?.[1];
}

function toPerson({ name, role }: AccessToken): Person {
  return describeNamedPerson(name, role);
}

export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}

/** Compares in constant time. */
function isEqual(a: string, b: string): boolean {
  return timingSafeEqual(digest(a), digest(b));
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
