import type { IncomingMessage } from "node:http";

/** Of a browser that is signed in. */
export const consoleCookie = "heddle_console";

export interface CookieAttributes {
  /** 0 removes it. */
  seconds: number;
  /** Whether it is sent over https only. */
  secure: boolean;
  /** Where it is sent along; by default everywhere. */
  path?: string;
  /** Whether it comes along when another site sends the browser here; by default it does not. */
  crossesSites?: true;
}

/** The value of `Set-Cookie`. No script reads it. */
export function writeCookie(
  name: string,
  value: string,
  { seconds, secure, path = "/", crossesSites }: CookieAttributes,
): string {
  const site = crossesSites ? "Lax" : "Strict";
  return `${name}=${value}; HttpOnly; SameSite=${site}; Path=${path}; Max-Age=${seconds}${secure ? "; Secure" : ""}`;
}

/** All that the request carries under that name. */
export function readCookies({ headers }: IncomingMessage, name: string): string[] {
  const cookies = (headers.cookie ?? "").split("; ");
  return cookies
    .filter((cookie) => cookie.startsWith(`${name}=`))
    .map((cookie) => cookie.slice(name.length + 1));
}

/** Whether the page that sends the request was opened over https. */
export function isSecure({ headers }: IncomingMessage): boolean {
  return headers.origin?.startsWith("https:") ?? false;
}
