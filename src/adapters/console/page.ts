import { readFile, readdir } from "node:fs/promises";
import { extname } from "node:path";
import type { Reply } from "./http.ts";

const folder = new URL("./page/", import.meta.url);

const mediaTypes: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** Reads the page's files, by address. All are read at start, so no request ever becomes a path. */
export async function readPage(): Promise<ReadonlyMap<string, Reply>> {
  const page = new Map<string, Reply>();
  for (const name of await readdir(folder)) {
    const type = mediaTypes[extname(name)];
    if (type === undefined) continue;
    const headers = { "content-type": type, "cache-control": "no-cache" };
    const reply = { status: 200, headers, body: await readFile(new URL(name, folder)) };
    page.set(name === "index.html" ? "/" : `/${name}`, reply);
  }
  return page;
}
