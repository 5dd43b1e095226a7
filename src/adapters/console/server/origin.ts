import type { IncomingMessage } from "node:http";
import { githubAppPage } from "../github-app.ts";

/** Why a request may not pass; `error` is for the person, `signIn` where they can sign in at a provider. */
export type Refusal = { status: 400 | 401 | 403 | 421 | 429; error: string; signIn?: string };

/** Where people go to sign in at a provider, and where it sends them back to. */
export const signInPath = "/sign-in";
export const signInCallbackPath = "/sign-in/callback";
/** For a browser that was signed out here: leads on to the provider. */
export const signOutPath = "/sign-in/end";

/** What links on other sites may lead to: these do nothing but show the page, or end what was begun here. */
const linkedPaths = ["/", signInCallbackPath, githubAppPage];

/**
 * Null when the request comes from this console's own page, from a program that is no browser, or from somebody who
 * follows a link.
 *
 * @param names by which the console may be called; null where that does not matter
 */
export function checkOrigin(request: IncomingMessage, names: ReadonlySet<string> | null): Refusal | null {
  const hosts = request.rawHeaders.filter((name, at) => at % 2 === 0 && /^host$/i.test(name));
  if (hosts.length > 1) return { status: 400, error: "A request names one host, not several." };
  const named = request.headers.host ?? "";
  const name = URL.parse(`http://${named}`)?.hostname;
  if (name === undefined || (names !== null && !names.has(name))) {
    return {
      status: 421,
      error: "The console does not answer to this host name: open it by the address that Heddle printed.",
    };
  }
  if (isOwn(request, named) || isLinked(request)) return null;
  return { status: 403, error: "The console takes requests from its own page only." };
}

function isOwn({ headers }: IncomingMessage, named: string): boolean {
  const { origin } = headers;
  const site = headers["sec-fetch-site"] ?? "none";
  const ownOrigin = origin === undefined || URL.parse(origin)?.host === named;
  return ownOrigin && (site === "none" || site === "same-origin");
}

/** A person follows a link on another site, in a tab of its own: whoever wrote that page sees nothing of it. */
function isLinked({ method, url, headers }: IncomingMessage): boolean {
  const isNavigation = headers["sec-fetch-mode"] === "navigate" && headers["sec-fetch-dest"] === "document";
  const [path = ""] = (url ?? "").split("?");
  return method === "GET" && isNavigation && headers.origin === undefined && linkedPaths.includes(path);
}
