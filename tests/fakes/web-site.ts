import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import { hostilePages } from "./hostile-pages.ts";
import type { Dialer } from "../../src/sandbox/egress/dialer.ts";
import { closeServer, listen } from "./listen.ts";

/**
 * A web site on loopback that answers as servers of the web do (RFC 9110 for statuses, redirects and codings, RFC 6585
 * for 429), and as hostile ones may: endless, slow, packed a thousandfold, in a charset of its own. All names lead to
 * it that a test gives public addresses.
 */
export interface WebSite {
  dialer: Dialer;
  /** Names that were looked up. */
  resolved: string[];
  /** What was dialled, as `address:port`. */
  dialled: string[];
  /** What was asked for, as `host/path`, with its headers. */
  requests: { what: string; headers: IncomingMessage["headers"] }[];
  /** How many bytes of bodies were written. */
  sent(): number;
  close(): Promise<void>;
}

type Answer = (request: IncomingMessage, response: ServerResponse, count: (bytes: number) => void) => void;

const html = { "content-type": "text/html; charset=utf-8" };

const article = `<!doctype html><html><head><title>Weaving</title></head><body>
<nav><a href="/menu">Menu</a></nav>
<article><h1>Weaving</h1>${"<p>Warp and weft are the two components that turn thread into fabric, and the weaver lifts every other warp thread with a heddle before the shuttle passes between them.</p>".repeat(6)}
<p>See <a href="/looms?kind=floor">looms</a>, <a href="https://other.example/a_(b)">others</a>.</p>
<pre><code class="language-js">const heddle = 1;</code></pre>
<table><thead><tr><th>Loom</th><th>Shafts</th></tr></thead><tbody><tr><td>Floor</td><td>4|8</td></tr></tbody></table>
<img src="https://evil.example/pixel.png?k=1" alt="A loom"></article></body></html>`;

/** Without a table of its objects: readers find them without it. */
const pdf = [
  "%PDF-1.4",
  "1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj",
  "2 0 obj <</Type/Pages/Kids[3 0 R]/Count 1>> endobj",
  "3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>> endobj",
  "4 0 obj <</Length 46>> stream\nBT /F 24 Tf 20 100 Td (Hello PDF here) Tj ET \nendstream endobj",
  "5 0 obj <</Type/Font/Subtype/Type1/BaseFont/Helvetica>> endobj",
  "trailer <</Root 1 0 R>>",
  "%%EOF",
].join("\n");

/** Packed to a thousandth of what it is. */
const bomb = gzipSync(Buffer.alloc(20 * 1_048_576));

const fixed: Record<string, Answer> = {
  "/article": (_, response) => response.writeHead(200, html).end(article),
  "/gzip": (_, response) =>
    response.writeHead(200, { ...html, "content-encoding": "gzip" }).end(gzipSync(article)),
  "/json": (_, response) =>
    response.writeHead(200, { "content-type": "application/json" }).end('{"looms":[1,2]}'),
  "/text": (_, response) =>
    response.writeHead(200, { "content-type": "text/plain" }).end("plain <b>words</b>\n"),
  "/feed": (_, response) =>
    response
      .writeHead(200, { "content-type": "application/rss+xml" })
      .end(
        `<?xml version="1.0"?><rss version="2.0"><channel><title>News</title><item><title>First</title><link>/first</link><pubDate>Mon, 02 Nov 2026</pubDate><description>&lt;p&gt;Hello&lt;/p&gt;</description></item></channel></rss>`,
      ),
  "/latin1": (_, response) =>
    response
      .writeHead(200, { "content-type": "text/html; charset=iso-8859-1" })
      .end(Buffer.from("<p>na\u00efve caf\u00e9</p>", "latin1")),
  "/wrong-charset": (_, response) =>
    response.writeHead(200, { "content-type": "text/html; charset=klingon" }).end("<p>qapla’</p>"),
  "/mislabelled": (_, response) =>
    response.writeHead(200, html).end(Buffer.from(`<p>${"\u00e9\u00e8\u00fc ".repeat(40)}</p>`, "latin1")),
  "/nothing": (_, response) => response.writeHead(204).end(),
  "/busy": (_, response) => response.writeHead(429, { "retry-after": "30" }).end("slow down"),
  "/gone": (_, response) => response.writeHead(404, html).end("<p>no</p>"),
  "/private": (_, response) => response.writeHead(401).end(),
  "/deep": (_, response) => response.writeHead(200, html).end(`${"<div>".repeat(20_000)}bottom`),
  "/long": (_, response) =>
    response
      .writeHead(200, { "content-type": "text/plain" })
      .end(
        Array.from({ length: 4_000 }, (_unused, line) => `line ${line} https://linked.example/${line}`).join(
          "\n",
        ),
      ),
  "/binary": (_, response) =>
    response
      .writeHead(200, { "content-type": "image/png" })
      .end(Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1, 2])),
  "/pdf": (_, response) => response.writeHead(200, { "content-type": "application/pdf" }).end(pdf),
  "/bomb": (_, response) => response.writeHead(200, { ...html, "content-encoding": "gzip" }).end(bomb),
  "/endless": (_, response, count) => {
    response.writeHead(200, html);
    const chunk = Buffer.alloc(65_536, "x");
    const more = () => {
      while (!response.destroyed && response.write(chunk)) count(chunk.length);
    };
    response.on("drain", more);
    more();
  },
  "/drip": (_, response) => {
    response.writeHead(200, html);
    const timer = setInterval(() => response.write("."), 20);
    response.on("close", () => clearInterval(timer));
  },
  "/silent": () => {},
};

/** @param names each name's addresses, by look-up; the last one stays */
export async function openWebSite(names: Record<string, string[][]>): Promise<WebSite> {
  const requests: WebSite["requests"] = [];
  const resolved: string[] = [];
  const dialled: string[] = [];
  let bytes = 0;
  const server = createServer((request, response) => {
    const { host = "", ...headers } = request.headers;
    requests.push({ what: `${host}${request.url}`, headers });
    const url = new URL(request.url ?? "/", "http://site");
    const to = url.searchParams.get("to");
    response.on("error", () => {});
    if (to !== null) return void response.writeHead(302, { location: to }).end();
    if (url.pathname === "/says") return void response.writeHead(200, html).end(url.searchParams.get("text"));
    const answer =
      fixed[url.pathname] ?? hostilePages[url.pathname] ?? ((_, gone) => gone.writeHead(404).end());
    return answer(request, response, (count) => (bytes += count));
  });
  const port = await listen(server);
  return {
    requests,
    resolved,
    dialled,
    sent: () => bytes,
    dialer: {
      async resolve(host) {
        resolved.push(host);
        const answers = names[host];
        // As getaddrinfo does with what is an address already.
        if (!answers) return /^[\d.]+$|:/.test(host) ? [host] : [];
        return (answers.length > 1 ? answers.shift() : answers[0]) ?? [];
      },
      connect(address, dialledPort) {
        dialled.push(`${address}:${dialledPort}`);
        return connect(port, "127.0.0.1");
      },
      // What is in the tunnel is no matter here: the site speaks plainly on both ports.
      secure: (socket) => socket,
    },
    async close() {
      await closeServer(server);
    },
  };
}
