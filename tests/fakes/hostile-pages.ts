import type { IncomingMessage, ServerResponse } from "node:http";
import { brotliCompressSync, constants, deflateSync, gzipSync } from "node:zlib";

/** What a hostile server answers, by path; `web-site.ts` serves it. */
type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const html = { "content-type": "text/html; charset=utf-8" };
const zeros = Buffer.alloc(20 * 1_048_576);

/** Each entity is ten of the one before: a billion words (CWE-776); and one that is a file of the reader's (CWE-611). */
const laughs = [
  '<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY a0 "laugh">',
  ...Array.from({ length: 9 }, (_, at) => `<!ENTITY a${at + 1} "${`&a${at};`.repeat(10)}">`),
  '<!ENTITY file SYSTEM "file:///etc/passwd"><!ENTITY far SYSTEM "http://169.254.169.254/">',
  '<!ENTITY % remote SYSTEM "http://other.example/entities">%remote;',
  "]>",
].join("\n");

let pdf: Buffer | undefined;

/**
 * A page of 256 MB of drawing, in some kilobytes (ISO 32000-1, 7.4.4). It takes seconds to make: a test that fetches it
 * makes it first, so that the site does not take them.
 */
export function pdfBomb(): Buffer {
  return (pdf ??= makePdfBomb());
}

function makePdfBomb(): Buffer {
  const text = Buffer.alloc(256 * 1_048_576, "BT /F 9 Tf (x) Tj ET\n");
  const content = deflateSync(deflateSync(text, { level: 1 }));
  return Buffer.concat([
    Buffer.from(
      [
        "%PDF-1.4",
        "1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj",
        "2 0 obj <</Type/Pages/Kids[3 0 R]/Count 1>> endobj",
        "3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>> endobj",
        "5 0 obj <</Type/Font/Subtype/Type1/BaseFont/Helvetica>> endobj",
        `4 0 obj <</Length ${content.length}/Filter[/FlateDecode/FlateDecode]>> stream\n`,
      ].join("\n"),
    ),
    content,
    Buffer.from("\nendstream endobj\ntrailer <</Root 1 0 R>>\n%%EOF\n"),
  ]);
}

/** Writes past Node's own idea of an answer. */
function raw(write: (response: ServerResponse) => void): Answer {
  return (_, response) => {
    response.socket?.on("error", () => {});
    write(response);
  };
}

function repeat(response: ServerResponse, text: string, everyMs: number): void {
  const { socket } = response;
  const timer = setInterval(() => socket?.write(text), everyMs);
  socket?.on("close", () => clearInterval(timer));
}

const packed =
  (encoding: string, data: () => Buffer): Answer =>
  (_, response) =>
    void response.writeHead(200, { ...html, "content-encoding": encoding }).end(data());

const typed =
  (type: string, data: string | Buffer): Answer =>
  (_, response) =>
    void response.writeHead(200, { "content-type": type }).end(data);

export const hostilePages: Record<string, Answer> = {
  "/brotli-bomb": packed("br", () =>
    brotliCompressSync(zeros, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
  ),
  "/deflate-bomb": packed("deflate", () => deflateSync(zeros)),
  // Each layer hides the size of the next.
  "/layers": packed("gzip, gzip", () => gzipSync(gzipSync(zeros))),
  "/not-packed": packed("gzip", () => Buffer.from("<p>plain</p>")),
  "/cut-off": packed("gzip", () => gzipSync("<p>whole</p>").subarray(0, 20)),
  "/short": raw(({ socket }) => {
    socket?.end("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5000\r\n\r\nonly this");
  }),
  "/header-drip": raw((response) => {
    response.socket?.write("HTTP/1.1 200 OK\r\n");
    repeat(response, "X: y\r\n", 20);
  }),
  "/header-flood": raw(({ socket }) => {
    socket?.write(`HTTP/1.1 200 OK\r\nX: ${"y".repeat(1_048_576)}\r\n\r\n`);
  }),
  "/continues": raw((response) => repeat(response, "HTTP/1.1 100 Continue\r\n\r\n", 5)),
  "/smuggled": raw(({ socket }) => {
    const lengths = "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n";
    socket?.end(`HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n${lengths}\r\n0\r\n\r\n`);
  }),
  "/html-as-pdf": typed("application/pdf", "<html><body>I am no PDF</body></html>"),
  "/pdf-as-html": typed("text/html", "%PDF-1.4 and <script>no page</script>"),
  "/html-as-picture": typed("image/png", "<html><body>I am no picture</body></html>"),
  "/html-as-json": typed("application/json", "<html><body>I am no JSON</body></html>"),
  "/bytes-as-text": typed("text/plain", Buffer.from([0x4d, 0x5a, 0, 0, 0xff, 0xfe, 0x1b, 0x5b, 0x32, 0x4a])),
  "/deep-json": typed("application/json", "[".repeat(400_000)),
  "/legal-deep-json": typed("application/json", `${"[".repeat(200_000)}${"]".repeat(200_000)}`),
  "/laughs": typed(
    "application/rss+xml",
    `${laughs}<rss version="2.0"><channel><title>&a9;</title><item><title>First &file;&far;</title><description>&a9;</description></item></channel></rss>`,
  ),
  "/atom": typed(
    "application/atom+xml",
    `<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"><title>News</title><entry><title>One</title><link href="/one"/><updated>2026-11-02</updated><summary>Hi</summary></entry></feed>`,
  ),
  "/json-feed": typed(
    "application/feed+json",
    JSON.stringify({
      version: "https://jsonfeed.org/version/1.1",
      title: "News",
      items: [{ title: "One", url: "/one", date_published: "2026-11-02", content_text: "Hi" }],
    }),
  ),
  "/pdf-bomb": (_, response) =>
    void response.writeHead(200, { "content-type": "application/pdf" }).end(pdfBomb()),
  "/cookie": (_, response) =>
    void response
      .writeHead(302, { location: "/article", "set-cookie": "id=1", "www-authenticate": "Basic realm=x" })
      .end(),
  "/loop": (_, response) => void response.writeHead(302, { location: "/loop" }).end(),
  "/no-place": (_, response) => void response.writeHead(302, { location: "http://[::1" }).end(),
};
