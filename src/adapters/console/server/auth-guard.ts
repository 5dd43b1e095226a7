import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { type AccessToken, type AccessTokens, isAccessToken } from "../../../operations/access-tokens.ts";
import { signedInSeconds, type SignIns } from "../../../operations/sign-ins.ts";
import { type AddressList, createAddressList, findClientAddress, networkOf } from "./client-address.ts";
import {
  consoleOperator,
  identify,
  type IdentityHeader,
  describeNamedPerson,
  type Person,
} from "./person.ts";

/** Why a request may not pass; `error` is for the person. */
type Refusal = { status: 400 | 401 | 403 | 421 | 429; error: string };

/** `by`: whether a token says so, and which, or the cookie of a browser that is signed in; nothing where neither is needed. */
export type Authenticated = { ok: true; person: Person; by?: Proof } | { ok: false; refusal: Refusal };

type Proof = { token: string } | { cookie: string };

/**
 * Who may talk to the console.
 *
 * A page of another site must not (it could otherwise steer the agent from within the person's browser): a
 * request has to name this console as its host, which DNS rebinding cannot fake, and as its origin. Where other
 * machines reach the console, a token is needed as well; the page trades it once for a cookie. People with tokens of their
 * own, or whom a named proxy names, are themselves; everybody else is the operator.
 */
export interface AuthGuard {
  /** Null when the request comes from this console's own page or from a program that is no browser. */
  checkOrigin(request: IncomingMessage): Refusal | null;
  /** Who sends the request: as cookie or `Authorization: Bearer` it carries a token, unless none is needed. */
  authenticate(request: IncomingMessage): Promise<Authenticated>;
  /** Signs in the browser that has shown a token; the `Set-Cookie` value of it. Undefined where it has shown none. */
  signIn(request: IncomingMessage, by: Proof | undefined): Promise<string | undefined>;
  /** Ends the cookie that the request carries; the `Set-Cookie` value that removes it. */
  signOut(request: IncomingMessage, by: Proof | undefined): Promise<string>;
}

const loopbackNames = ["127.0.0.1", "localhost", "[::1]"];

const cookieName = "heddle_console";

/** A shorter token could be guessed over the network. */
const leastTokenChars = 16;

/** How many wrong tokens an address may send in a minute; a page that has its cookie is not affected. */
const mostWrong = 10;
/** The same for a proxy and all that it stands for: far more than people mistype, far less than guessing needs. */
const mostWrongOfProxy = 300;
const wrongForMs = 60_000;
/** Long enough to walk from the terminal to the browser. */
const loginCodeMs = 15 * 60_000;
/** How many addresses are tracked; beyond that, all counts are reset. */
const mostAddresses = 10_000;

/** What is wrong with these settings, in one sentence; null when the console may start. */
export function findUnsafeSettings(host: string, token: string | undefined): string | null {
  if (token === undefined) {
    if (isLoopback(host)) return null;
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

const unauthorized: Refusal = {
  status: 401,
  error:
    "The console needs its token: HEDDLE_CONSOLE_TOKEN in Heddle's settings, or the file console.token in its data folder.",
};

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
    tokens,
    signIns,
    now = Date.now,
  } = settings;
  const login = { code: settings.loginCode, until: now() + loginCodeMs };
  // With a token, names do not matter (behind a proxy they are anything): the cookie is bound to the name under
  // which it was given, so a rebound name has none.
  const names = token === undefined ? new Set([...loopbackNames, host]) : null;
  // Whoever is signed in with a token that is another one by now is so no longer.
  const ownToken = token === undefined ? undefined : `console ${digest(token).toString("hex")}`;
  const wrong = createWrongTokens(proxies, now);

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
    return { ok: false, refusal: unauthorized };
  };

  const checkCookies = async (request: IncomingMessage): Promise<Authenticated | undefined> => {
    for (const cookie of readCookies(request)) {
      const by = await signIns?.find(cookie);
      if (by === undefined) continue;
      if (by === ownToken) return { ok: true, person: consoleOperator(), by: { cookie } };
      const found = await tokens?.find({ id: by });
      if (found) return { ok: true, person: toPerson(found), by: { cookie } };
    }
    return undefined;
  };

  return {
    checkOrigin(request) {
      const hosts = request.rawHeaders.filter((name, at) => at % 2 === 0 && /^host$/i.test(name));
      if (hosts.length > 1) return { status: 400, error: "A request names one host, not several." };
      const named = request.headers.host ?? "";
      const name = URL.parse(`http://${named}`)?.hostname;
      // Behind a proxy that signs people in names are anything, and what it knows them by is bound to its own.
      const isKnown = names === null || isTrustedProxy(request) || names.has(name ?? "");
      if (name === undefined || !isKnown) {
        return {
          status: 421,
          error: "The console does not answer to this host name: open it by the address that Heddle printed.",
        };
      }
      const { origin } = request.headers;
      const site = request.headers["sec-fetch-site"] ?? "none";
      const ownOrigin = origin === undefined || URL.parse(origin)?.host === named;
      if (ownOrigin && (site === "none" || site === "same-origin")) return null;
      return { status: 403, error: "The console takes requests from its own page only." };
    },

    async authenticate(request) {
      const identified = identify(request, identity, proxies);
      if (identified.kind === "person") return { ok: true, person: identified.person };
      if (identified.kind === "unknown") return { ok: false, refusal: unknownPerson };
      const bearer = readBearer(request);
      if (bearer !== undefined && (token !== undefined || isAccessToken(bearer)))
        return await checkBearer(request, bearer);
      const signedIn = await checkCookies(request);
      if (signedIn) return signedIn;
      // Where a proxy should have named somebody, nobody is the operator for want of a name.
      if (token === undefined && !isTrustedProxy(request)) return { ok: true, person: consoleOperator() };
      return { ok: false, refusal: unauthorized };
    },

    async signIn(request, by) {
      if (!signIns || !by || !("token" in by)) return undefined;
      return setCookie(request, await signIns.begin(by.token), signedInSeconds);
    },

    async signOut(request, by) {
      if (by && "cookie" in by) await signIns?.end(by.cookie);
      return setCookie(request, "", 0);
    },
  };
}

/** How many wrong tokens come from where. */
function createWrongTokens(proxies: AddressList, now: () => number) {
  const wrong = new Map<string, { count: number; since: number }>();

  /** Of this minute. */
  const read = (address: string) => {
    const known = wrong.get(address);
    return known && now() - known.since < wrongForMs ? known : { count: 0, since: now() };
  };
  const namesOf = (request: IncomingMessage) => ({
    client: networkOf(findClientAddress(request, proxies)),
    peer: `peer ${networkOf(request.socket.remoteAddress ?? "")}`,
  });

  return {
    areTooMany(request: IncomingMessage): boolean {
      const { client, peer } = namesOf(request);
      return read(client).count >= mostWrong || read(peer).count >= mostWrongOfProxy;
    },
    add(request: IncomingMessage): void {
      for (const address of Object.values(namesOf(request))) {
        const { count, since } = read(address);
        if (wrong.size >= mostAddresses) wrong.clear();
        wrong.set(address, { count: count + 1, since });
      }
    },
  };
}

function setCookie({ headers }: IncomingMessage, value: string, seconds: number): string {
  const secure = headers.origin?.startsWith("https:") ? "; Secure" : "";
  return `${cookieName}=${value}; HttpOnly; SameSite=Strict; Path=/; Max-Age=${seconds}${secure}`;
}

function readCookies({ headers }: IncomingMessage): string[] {
  const prefix = `${cookieName}=`;
  const cookies = (headers.cookie ?? "").split("; ");
  return cookies.filter((cookie) => cookie.startsWith(prefix)).map((cookie) => cookie.slice(prefix.length));
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
