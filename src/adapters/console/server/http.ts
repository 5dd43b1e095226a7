import { extname } from "node:path/posix";
import type { IncomingMessage, ServerResponse } from "node:http";

/** A complete response. */
export interface Reply {
  status: number;
  headers?: Record<string, string>;
  /** Values of `Set-Cookie`, where there are several. */
  cookies?: string[];
  body?: string | Buffer;
}

/** The page has no inline scripts or styles, and talks to no other host; `forms`: where it may send some. */
const policyOf = (forms: string) =>
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
  `frame-src 'self'; base-uri 'none'; form-action ${forms}; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'`;

/** Sent with every response. */
const commonHeaders = {
  "content-security-policy": policyOf("'none'"),
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
};

export function setCommonHeaders(response: ServerResponse): void {
  for (const [name, value] of Object.entries(commonHeaders)) response.setHeader(name, value);
}

/** A page that may send a form to this host, e.g. `https://github.com`, and to no other. */
export function withFormTo(host: string, reply: Reply): Reply {
  return { ...reply, headers: { ...reply.headers, "content-security-policy": policyOf(host) } };
}

/** To HEAD the body is only announced: Node leaves it out. */
export function send(response: ServerResponse, { status, headers, cookies, body }: Reply): void {
  const length = body === undefined ? undefined : Buffer.byteLength(body);
  response.writeHead(status, {
    ...headers,
    ...(cookies && { "set-cookie": cookies }),
    ...(length !== undefined && { "content-length": length }),
  });
  response.end(body);
}

/** Whether something is asked for, or only what would be said of it. */
export function isRead(method: string | undefined): boolean {
  return method === "GET" || method === "HEAD";
}

export function replyJson(status: number, value: unknown): Reply {
  return { status, headers: { "content-type": "application/json" }, body: JSON.stringify(value) };
}

/** `error` is one sentence for the person. */
export function replyProblem(status: number, error: string): Reply {
  return replyJson(status, { error });
}

/** A file to be saved, never displayed: its content and its name come from the sandbox. */
export function replyDownload(name: string, data: Buffer): Reply {
  const plain = name.replaceAll(/[^\w .()-]/g, "_");
  const exact = encodeURIComponent(name.toWellFormed()).replaceAll(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16)}`,
  );
  const headers = {
    "content-type": "application/octet-stream",
    "content-disposition": `attachment; filename="${plain}"; filename*=UTF-8''${exact}`,
    "content-security-policy": "default-src 'none'; sandbox",
  };
  return { status: 200, headers, body: data };
}

/** What may be shown beside saving it, and how it begins, whatever its name says. */
const previews: [mediaType: string, begins: RegExp][] = [
  ["image/png", /^\x89PNG\r\n/],
  ["image/jpeg", /^\xff\xd8\xff/],
  ["image/gif", /^GIF8[79]a/],
  ["image/webp", /^RIFF.{4}WEBP/s],
  ["application/pdf", /^%PDF-/],
];

/** A document of somebody else's: without scripts, forms and requests, and of no origin. */
const isolated =
  "default-src 'none'; img-src data:; style-src 'unsafe-inline'; font-src data:; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox";

/**
 * A file for a frame or a picture of the page: pictures, PDF, and with `name`s of such files HTML and SVG. Undefined
 * where it is none of these.
 */
export function replyPreview(name: string, data: Buffer): Reply | undefined {
  const start = data.subarray(0, 12).toString("latin1");
  const [mediaType = documentTypes[extname(name).toLowerCase()]] =
    previews.find(([, begins]) => begins.test(start)) ?? [];
  if (mediaType === undefined) return undefined;
  const isPdf = mediaType === "application/pdf";
  const headers = {
    "content-type": mediaType,
    "content-disposition": "inline",
    // A browser's viewer of PDF does not run in a sandbox; it runs nothing of the file's either.
    "content-security-policy": isPdf ? "default-src 'none'; frame-ancestors 'self'" : isolated,
  };
  return { status: 200, headers, body: data };
}

/** Whether this is a picture of a kind that browsers show, by its first bytes. */
export function isPicture(data: Buffer): boolean {
  const start = data.subarray(0, 12).toString("latin1");
  return previews.some(([type, begins]) => type.startsWith("image/") && begins.test(start));
}

const documentTypes: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".htm": "text/html; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** Reads a JSON body. Requiring its media type keeps HTML forms of other sites out. */
export async function readJson(
  request: IncomingMessage,
  maxBytes: number,
): Promise<{ ok: true; value: unknown } | { ok: false; reply: Reply }> {
  const body = await readBody(request, "application/json", maxBytes);
  if (!body.ok) return body;
  try {
    return { ok: true, value: JSON.parse(body.data.toString("utf8")) };
  } catch {
    return { ok: false, reply: replyProblem(400, "The body is not valid JSON.") };
  }
}

/**
 * Reads a body, which must have that media type: one that no HTML form can send.
 *
 * @throws the signal's reason with the next part that comes after it is aborted
 */
export async function readBody(
  request: IncomingMessage,
  mediaType: string,
  maxBytes: number,
  givenUp?: AbortSignal,
): Promise<{ ok: true; data: Buffer } | { ok: false; reply: Reply }> {
  const [sent = ""] = (request.headers["content-type"] ?? "").split(";");
  if (sent.trim().toLowerCase() !== mediaType) {
    return { ok: false, reply: replyProblem(415, `The body must have the content-type ${mediaType}.`) };
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  // Without an encoding it yields Buffers. The connection stays open, so that a refusal can still be read.
  const body: AsyncIterable<Buffer> = request.iterator({ destroyOnReturn: false });
  for await (const chunk of body) {
    givenUp?.throwIfAborted();
    bytes += chunk.length;
    if (bytes > maxBytes) {
      const reply = replyProblem(413, `The body is larger than ${maxBytes} bytes.`);
      return { ok: false, reply: { ...reply, headers: { ...reply.headers, connection: "close" } } };
    }
    chunks.push(chunk);
  }
  return { ok: true, data: Buffer.concat(chunks) };
}
