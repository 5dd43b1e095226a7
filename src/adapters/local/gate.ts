import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";

/** Why a request may not pass; `error` is for the person. */
type Refusal = { status: 401 | 403 | 421; error: string };

/**
 * Who may talk to the console.
 *
 * A page of another site must not (it could otherwise steer the agent from within the person's browser): a
 * request has to name this console as its host, which DNS rebinding cannot fake, and as its origin. Where other
 * machines reach the console, a token is needed as well; the page trades it once for a cookie.
 */
export interface Gate {
  /** Null when the request comes from this console's own page or from a program that is no browser. */
  stranger(request: IncomingMessage): Refusal | null;
  /** Null when no token is needed or the request carries it, as cookie or `Authorization: Bearer`. */
  unknown(request: IncomingMessage): Refusal | null;
  /** The `Set-Cookie` value that stands for the token. */
  cookie(request: IncomingMessage): string;
}

const loopbackNames = ["127.0.0.1", "localhost", "[::1]"];

const cookieName = "heddle_console";
const cookieSeconds = 30 * 24 * 60 * 60;

/** Guessing a shorter token over the network is thinkable. */
const leastTokenChars = 16;

/** What is wrong with these settings, in one sentence; null when the console may start. */
export function unsafeSettings(host: string, token: string | undefined): string | null {
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

export function createGate(settings: { host: string; token: string | undefined }): Gate {
  const { host, token } = settings;
  // With a token, names do not matter (behind a proxy they are anything): the cookie is bound to the name under
  // which it was given, so a rebound name has none.
  const names = token === undefined ? new Set([...loopbackNames, host]) : null;
  const session =
    token === undefined ? "" : createHmac("sha256", token).update("heddle console").digest("hex");

  return {
    stranger(request) {
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

    unknown(request) {
      if (token === undefined) return null;
      const bearer = /^Bearer (.+)$/i.exec(request.headers.authorization ?? "")?.[1];
      if (bearer !== undefined && same(bearer, token)) return null;
      const cookies = (request.headers.cookie ?? "").split("; ");
      if (cookies.some((cookie) => same(cookie, `${cookieName}=${session}`))) return null;
      return {
        status: 401,
        error: "The console needs its token: HEDDLE_CONSOLE_TOKEN in Heddle's settings.",
      };
    },

    cookie(request) {
      const secure = request.headers.origin?.startsWith("https:") ? "; Secure" : "";
      return `${cookieName}=${session}; HttpOnly; SameSite=Strict; Path=/; Max-Age=${cookieSeconds}${secure}`;
    },
  };
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}

/** Equality that takes the same time wherever the first difference is. */
function same(a: string, b: string): boolean {
  return timingSafeEqual(digest(a), digest(b));
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
