import { readdir, readFile } from "node:fs/promises";
import { stripTypeScriptTypes } from "node:module";
import { extname } from "node:path";
import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { gzipSync } from "node:zlib";
import { chooseEncoding } from "./compress.ts";
import type { Reply } from "./http.ts";

const folder = new URL("../page/", import.meta.url);

const mediaTypes: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".ts": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** What the page takes from packages, each a module of its own. The names stand in the calls, for the build of the package. */
const vendored = {
  "/vendor/highlight.js": import.meta.resolve("@highlightjs/cdn-assets/es/highlight.min.js"),
};

/** The page's files by their address. */
export type Page = ReadonlyMap<string, (headers: IncomingHttpHeaders) => Reply>;

/**
 * The page's files by their address. They are all read at once, so no request ever becomes a path. `x.ts` is served as
 * `/x.js`. Types are stripped, and files compressed, when they are first asked for: all of them at once would hold up the
 * start, and turns.
 */
export async function readPage(): Promise<Page> {
  const page = new Map<string, (headers: IncomingHttpHeaders) => Reply>();
  const add = (address: string, type: string, content: () => Buffer | string) => {
    let file: ServedFile | undefined;
    page.set(address, (headers) => replyFile((file ??= toServedFile(content(), type)), headers));
  };
  for (const name of await readdir(folder, { recursive: true })) {
    const type = mediaTypes[extname(name)];
    if (type === undefined) continue;
    const source = await readFile(new URL(name, folder));
    const address = name.replace(/\.ts$/, ".js");
    add(address === "index.html" ? "/" : `/${address}`, type, () =>
      name.endsWith(".ts") ? toJavaScript(source.toString()) : source,
    );
  }
  for (const [address, from] of Object.entries(vendored)) {
    const source = await readFile(new URL(from));
    add(address, "text/javascript; charset=utf-8", () => source);
  }
  return page;
}

interface ServedFile {
  headers: Record<string, string>;
  plain: Buffer;
  gzip: Buffer;
}

function toServedFile(content: Buffer | string, type: string): ServedFile {
  const plain = Buffer.from(content);
  // Weak, as it stands for the file compressed or not.
  const etag = `W/"${createHash("sha256").update(plain).digest("base64url").slice(0, 22)}"`;
  // Asked for again each time, and sent only when it has changed: page and API are of one version.
  const headers = { "content-type": type, "cache-control": "no-cache", etag, vary: "accept-encoding" };
  return { headers, plain, gzip: gzipSync(plain) };
}

function replyFile({ headers, plain, gzip }: ServedFile, asked: IncomingHttpHeaders): Reply {
  if (isKnown(headers["etag"] ?? "", asked["if-none-match"])) return { status: 304, headers };
  const encoding = chooseEncoding(asked["accept-encoding"]?.toString() ?? "", ["gzip"]);
  if (encoding === undefined) return { status: 200, headers, body: plain };
  return { status: 200, headers: { ...headers, "content-encoding": encoding }, body: gzip };
}

/** By weak comparison (RFC 9110, 13.1.2): a proxy may have taken the mark of a weak one, or set it. */
function isKnown(etag: string, known: string | undefined): boolean {
  const bare = (tag: string) => tag.trim().replace(/^W\//, "");
  const tags = (known ?? "").split(",").map(bare);
  return tags.includes(bare(etag)) || tags.includes("*");
}

/** Modules import each other by the names of their sources; browsers are answered for those with `.js`. */
function toJavaScript(source: string): string {
  return withoutWarning(() => stripTypeScriptTypes(source)).replaceAll(/( from "\.[^"]+)\.ts"/g, '$1.js"');
}

/** Node says once that stripping is experimental: nothing that whoever started Heddle could do something about. */
function withoutWarning<Result>(act: () => Result): Result {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return act();
  } finally {
    process.emitWarning = emitWarning;
  }
}
