/**
 * Serves the files of a folder over HTTP on a unix socket, in the thread's sandbox. Its source goes there as text, so it
 * uses nothing but what is in it. GET and HEAD; `index.html` stands for its folder, which is listed where there is none;
 * names that begin with a dot, and links that lead out of the folder, do not exist for it.
 */
export function serveFolder(folder: string, socket: string): void {
  const http = process.getBuiltinModule("node:http");
  const fs = process.getBuiltinModule("node:fs");
  const path = process.getBuiltinModule("node:path");
  const { pipeline } = process.getBuiltinModule("node:stream");
  const types: Record<string, string> = {
    ...{ html: "text/html; charset=utf-8", htm: "text/html; charset=utf-8", css: "text/css; charset=utf-8" },
    ...{ js: "text/javascript; charset=utf-8", mjs: "text/javascript; charset=utf-8" },
    ...{ json: "application/json", map: "application/json", webmanifest: "application/manifest+json" },
    ...{ txt: "text/plain; charset=utf-8", md: "text/plain; charset=utf-8", csv: "text/csv; charset=utf-8" },
    ...{
      xml: "application/xml",
      svg: "image/svg+xml",
      png: "image/png",
      jpg: "image/jpeg",
      jpeg: "image/jpeg",
    },
    ...{
      gif: "image/gif",
      webp: "image/webp",
      avif: "image/avif",
      ico: "image/x-icon",
      pdf: "application/pdf",
    },
    ...{ wasm: "application/wasm", woff: "font/woff", woff2: "font/woff2", ttf: "font/ttf" },
    ...{ mp4: "video/mp4", webm: "video/webm", mp3: "audio/mpeg", wav: "audio/wav" },
  };
  const root = fs.realpathSync(folder);
  const escape = (text: string) => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

  /** What the address names, if it may be seen. */
  const find = (address: string): string | undefined => {
    try {
      const name = decodeURIComponent(new URL(address, "http://folder").pathname);
      const isHidden = name.split("/").some((part) => part.startsWith("."));
      if (isHidden || name.includes("\0")) return undefined;
      const real = fs.realpathSync(path.join(root, name));
      return real === root || real.startsWith(root === "/" ? root : `${root}/`) ? real : undefined;
    } catch {
      return undefined;
    }
  };

  const list = (found: string, address: string): string => {
    const names = fs
      .readdirSync(found, { withFileTypes: true })
      .filter(({ name }) => !name.startsWith("."))
      .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
      .toSorted();
    const title = escape(decodeURIComponent(new URL(address, "http://folder").pathname));
    const links = names
      .slice(0, 1_000)
      .map((name) => `<li><a href="./${encodeURIComponent(name).replace("%2F", "/")}">${escape(name)}</a>`);
    const more = names.length > links.length ? `<p>and ${names.length - links.length} more` : "";
    return `<!doctype html><meta charset="utf-8"><title>${title}</title><h1>${title}</h1><ul>${links.join("")}</ul>${more}`;
  };

  const server = http.createServer((request, response) => {
    const answer = (status: number, text: string, type = "text/plain; charset=utf-8") => {
      response.writeHead(status, { "content-type": type, "content-length": Buffer.byteLength(text) });
      response.end(request.method === "HEAD" ? "" : text);
    };
    const address = request.url ?? "/";
    try {
      if (request.method !== "GET" && request.method !== "HEAD") {
        response.setHeader("allow", "GET, HEAD");
        return answer(405, "Only GET and HEAD.\n");
      }
      const found = find(address);
      if (found === undefined) return answer(404, "There is no such file.\n");
      const status = fs.statSync(found);
      const { pathname, search } = new URL(address, "http://folder");
      if (status.isDirectory() && !pathname.endsWith("/")) {
        // A relative address: an absolute one that begins with two slashes would lead to another host.
        response.setHeader("location", `./${encodeURIComponent(path.basename(found))}/${search}`);
        return answer(301, "");
      }
      const file = status.isDirectory() ? find(`${pathname}index.html`) : found;
      if (file === undefined) return answer(200, list(found, address), types["html"]);
      // A pipe would never open, and a few of them would keep all other files from opening.
      const fd = fs.openSync(file, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
      const opened = fs.fstatSync(fd);
      // No more than was told: the file may grow meanwhile.
      const content = fs.createReadStream("", { fd, start: 0, end: Math.max(0, opened.size - 1) });
      if (!opened.isFile()) {
        content.destroy();
        return answer(404, "There is no such file.\n");
      }
      const type = types[path.extname(file).slice(1).toLowerCase()] ?? "application/octet-stream";
      response.writeHead(200, {
        "content-type": type,
        "content-length": opened.size,
        "cache-control": "no-cache",
      });
      if (request.method === "GET") return pipeline(content, response, () => {});
      content.destroy();
      return response.end();
    } catch {
      return response.headersSent ? response.destroy() : answer(500, "The file could not be read.\n");
    }
  });
  server.listen(socket);
}
