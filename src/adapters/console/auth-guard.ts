import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { type AddressList, createAddressList, findClientAddress, networkOf } from "./client-address.ts";

/** Why a request may not pass; `error` is for the person. */
type Refusal = { status: 400 | 401 | 403 | 421 | 429; error: string };

/**
 * Who may talk to the console.
 *
 * A page of another site must not (it could otherwise steer the agent from within the person's browser): a
 * request has to name this console as its host, which DNS rebinding cannot fake, and as its origin. Where other
 * machines reach the console, a token is needed as well; the page trades it once for a cookie.
 */
export interface AuthGuard {
  /** Null when the request comes from this console's own page or from a program that is no browser. */
  checkOrigin(request: IncomingMessage): Refusal | null;
  /** Null when no token is needed or the request carries it, as cookie or `Authorization: Bearer`. */
  authenticate(request: IncomingMessage): Refusal | null;
  /** The `Set-Cookie` value that stands for the token. */
  cookie(request: IncomingMessage): string;
}

const loopbackNames = ["127.0.0.1", "localhost", "[::1]"];

const cookieName = "heddle_console";
const cookieSeconds = 30 * 24 * 60 * 60;

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

const unauthorized: Refusal = {
  status: 401,
  error:
    "The console needs its token: HEDDLE_CONSOLE_TOKEN in Heddle's settings, or the file console.token in its data folder.",
};

export function createAuthGuard(settings: {
  host: string;
  token: string | undefined;
  /** Stands for the token at one `POST /api/session` in the first minutes. */
  loginCode?: string | undefined;
  /** Whose `X-Forwarded-For` counts; by default nobody's. */
  proxies?: AddressList;
  now?: () => number;
}): AuthGuard {
  const { host, token, proxies = createAddressList([]), now = Date.now } = settings;
  const login = { code: settings.loginCode, until: now() + loginCodeMs };
  // With a token, names do not matter (behind a proxy they are anything): the cookie is bound to the name under
  // which it was given, so a rebound name has none.
  const names = token === undefined ? new Set([...loopbackNames, host]) : null;
  const session =
    token === undefined ? "" : createHmac("sha256", token).update("heddle console").digest("hex");
  const wrong = new Map<string, { count: number; since: number }>();

  /** Of this minute. */
  const readFailures = (address: string) => {
    const known = wrong.get(address);
    return known && now() - known.since < wrongForMs ? known : { count: 0, since: now() };
  };

  const addFailure = (address: string) => {
    const { count, since } = readFailures(address);
    if (wrong.size >= mostAddresses) wrong.clear();
    wrong.set(address, { count: count + 1, since });
  };

  const takesLoginCode = ({ method, url }: IncomingMessage, bearer: string): boolean => {
    if (login.code === undefined || now() >= login.until) return false;
    if (method !== "POST" || url !== "/api/session" || !isEqual(bearer, login.code)) return false;
    login.code = undefined;
    return true;
  };

  const checkBearer = (request: IncomingMessage, bearer: string, expected: string): Refusal | null => {
    const peer = networkOf(request.socket.remoteAddress ?? "");
    const client = networkOf(findClientAddress(request, proxies));
    const tooMany =
      readFailures(client).count >= mostWrong || readFailures(`peer ${peer}`).count >= mostWrongOfProxy;
    if (tooMany) {
      const error = "Too many wrong tokens came from this address: wait a minute, then try again.";
      return { status: 429, error };
    }
    if (isEqual(bearer, expected) || takesLoginCode(request, bearer)) return null;
    addFailure(client);
    addFailure(`peer ${peer}`);
    return unauthorized;
  };

  return {
    checkOrigin(request) {
      const hosts = request.rawHeaders.filter((name, at) => at % 2 === 0 && /^host$/i.test(name));
      if (hosts.length > 1) return { status: 400, error: "A request names one host, not several." };
      const named = request.headers.host ?? "";
      const name = URL.parse(`http://${named}`)?.hostname;
      if (name === undefined || (names && !names.has(name))) {
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

    authenticate(request) {
      if (token === undefined) return null;
      const cookies = (request.headers.cookie ?? "").split("; ");
      if (cookies.some((cookie) => isEqual(cookie, `${cookieName}=${session}`))) return null;
      const bearer = /^Bearer (.+)$/i.exec(request.headers.authorization ?? "")?.[1];
      return bearer === undefined ? unauthorized : checkBearer(request, bearer, token);
    },

    cookie(request) {
      const secure = request.headers.origin?.startsWith("https:") ? "; Secure" : "";
      return `${cookieName}=${session}; HttpOnly; SameSite=Strict; Path=/; Max-Age=${cookieSeconds}${secure}`;
    },
  };
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
