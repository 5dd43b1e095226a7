import { createHash, randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { SignInError } from "../agent/mcp/sign-in/begun.ts";
import { cutText } from "../agent/text/text.ts";
import { callbackPath, clientPath, type ConnectingPages } from "./connecting.ts";
import type { Binding } from "./records.ts";

/** A page, or where the browser goes next. */
export interface PageReply {
  status: number;
  headers: Record<string, string>;
  body: string;
}

const style =
  "body{font:16px/1.5 system-ui,sans-serif;max-width:34rem;margin:4rem auto;padding:0 1rem;color:#222;background:#fff}code{font-size:1.6rem;letter-spacing:.1em}button{font:inherit;padding:.5rem 1.2rem}strong{overflow-wrap:anywhere}";

/** Nothing but this style; no script, no frame, no trace in other pages. */
const headers = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": `default-src 'none'; style-src 'sha256-${createHash("sha256").update(style).digest("base64")}'; base-uri 'none'; frame-ancestors 'none'`,
  "cache-control": "no-store",
  // With "no-referrer" browsers send no origin with the form: https://fetch.spec.whatwg.org/#append-a-request-origin-header
  "referrer-policy": "same-origin",
  "x-content-type-options": "nosniff",
};

/**
 * Answers what browsers ask for below `/connect/`. A link does nothing until its page's button is pressed, since chats
 * look at links by themselves.
 *
 * @param address the origin at which people reach these pages
 */
export function createPages(
  connecting: ConnectingPages,
  address: string,
): (request: IncomingMessage) => Promise<PageReply> {
  const isSecure = address.startsWith("https:");
  const cookieOf = (state: string) =>
    `${isSecure ? "__Host-" : ""}heddle-connect-${createHash("sha256").update(state).digest("hex").slice(0, 16)}`;

  const begin = async (request: IncomingMessage, ticket: string): Promise<PageReply> => {
    // Another page could press the button unseen.
    if (!isFrom(request, address))
      return refuse(403, "This must be begun on the page that the link leads to.");
    const browser = randomBytes(24).toString("base64url");
    const begun = await connecting.begin(ticket, browser);
    if (!begun) return gone;
    const cookie = [
      `${cookieOf(begun.state)}=${browser}`,
      ...["Path=/", "Max-Age=900", "HttpOnly", "SameSite=Lax"],
      ...(isSecure ? ["Secure"] : []),
    ].join("; ");
    return { status: 303, headers: { ...headers, location: begun.url.href, "set-cookie": cookie }, body: "" };
  };

  const finish = async (request: IncomingMessage, url: URL): Promise<PageReply> => {
    const state = url.searchParams.get("state") ?? "";
    const finished = await connecting.finish(url, readCookie(request, cookieOf(state)));
    return finished ? page("Almost connected", showCode(finished)) : gone;
  };

  const nothing = refuse(404, "There is nothing at this address.");

  const get = async (request: IncomingMessage, url: URL, ticket: string | undefined): Promise<PageReply> => {
    if (url.pathname === callbackPath) return await finish(request, url);
    if (url.pathname === clientPath) return await showClient(address);
    if (ticket === undefined) return nothing;
    const bound = await connecting.find(ticket);
    return bound ? page("Connect an account", askToBegin(bound, ticket)) : gone;
  };

  return async (request) => {
    const url = URL.parse(request.url ?? "", address);
    const ticket = /^\/connect\/([\w-]{32})$/.exec(url?.pathname ?? "")?.[1];
    try {
      if (request.method === "GET" && url) return await get(request, url, ticket);
      if (request.method === "POST" && ticket !== undefined) return await begin(request, ticket);
      return nothing;
    } catch (error) {
      if (!(error instanceof SignInError)) throw error;
      const why = cutText(error.message, 500);
      return refuse(502, `${why} Press Connect in the thread to try again, or ask your operator.`);
    }
  };
}

/** The document that the client's id leads to. It is as public as the redirects that it names. */
async function showClient(address: string): Promise<PageReply> {
  const { describeClient } = await import("../agent/mcp/sign-in/sign-in.ts");
  const client = {
    client_id: new URL(clientPath, address).href,
    ...describeClient(new URL(callbackPath, address)),
  };
  return {
    status: 200,
    headers: { ...headers, "content-type": "application/json", "cache-control": "max-age=300" },
    body: `${JSON.stringify(client)}\n`,
  };
}

const gone = refuse(
  410,
  "This link was used, is too old, or was opened in another browser. Press Connect in the thread for a new one.",
);

function askToBegin({ name, person, server, url }: Binding, ticket: string): string {
  return `<p>You are about to connect <strong>your account at ${escape(server)}</strong> (${escape(new URL(url).host)})
to <strong>${escape(name)}</strong> (${escape(person)}), whose tasks Heddle will then do there with it.</p>
<p>Go on only if you are ${escape(name)} and pressed Connect yourself a moment ago. If somebody has sent you this link,
close this page: they would get to use your account.</p>
<form method="post" action="/connect/${ticket}"><button>I am ${escape(name)}: sign in at ${escape(server)}</button></form>`;
}

function showCode({ bound, code }: { bound: Binding; code: string }): string {
  return `<p>You have signed in at <strong>${escape(bound.server)}</strong>. To end it, press <strong>Enter the code…</strong>
in the thread as <strong>${escape(bound.name)}</strong>, and enter</p>
<p><code>${code}</code></p>
<p>Give this code to nobody: whoever enters it uses your account as their own. Nobody will ask you for it. If you are not
${escape(bound.name)}, close this page, and nothing happens.</p>`;
}

function page(title: string, body: string, status = 200): PageReply {
  const html = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escape(title)} · Heddle</title><style>${style}</style><h1>${escape(title)}</h1>${body}</html>\n`;
  return { status, headers, body: html };
}

function refuse(status: number, sentence: string): PageReply {
  return page("Not connected", `<p>${escape(sentence)}</p>`, status);
}

function escape(text: string): string {
  const names: Record<string, string> = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
    "'": "&#39;",
  };
  return text.replaceAll(/[&<>"']/g, (char) => names[char] ?? char);
}

/** Whether the page itself has sent a form: https://developer.mozilla.org/docs/Web/HTTP/Reference/Headers/Origin */
function isFrom({ headers: sent }: IncomingMessage, address: string): boolean {
  return sent.origin === new URL(address).origin;
}

function readCookie({ headers: sent }: IncomingMessage, name: string): string | undefined {
  const pairs = (sent.cookie ?? "").split(";").map((pair) => pair.trim().split("="));
  return pairs.find(([key]) => key === name)?.[1];
}
