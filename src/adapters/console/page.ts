import { readFile, readdir } from "node:fs/promises";
import { stripTypeScriptTypes } from "node:module";
import { extname } from "node:path";
import type { Reply } from "./http.ts";

const folder = new URL("./page/", import.meta.url);

const mediaTypes: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".ts": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
};

/**
 * The page's files by their address. They are all read at once, so no request ever becomes a path. `x.ts` is served as
 * `/x.js`, its types stripped when it is first asked for: all of them at once would hold up the start, and turns.
 */
export async function readPage(): Promise<ReadonlyMap<string, () => Reply>> {
  const page = new Map<string, () => Reply>();
  for (const name of await readdir(folder, { recursive: true })) {
    const type = mediaTypes[extname(name)];
    if (type === undefined) continue;
    const headers = { "content-type": type, "cache-control": "no-cache" };
    const source = await readFile(new URL(name, folder));
    const address = name.replace(/\.ts$/, ".js");
    let body: Buffer | string | undefined = name.endsWith(".ts") ? undefined : source;
    page.set(address === "index.html" ? "/" : `/${address}`, () => {
      body ??= toJavaScript(source.toString());
      return { status: 200, headers, body };
    });
  }
  return page;
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
