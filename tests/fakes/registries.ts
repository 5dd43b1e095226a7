import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { zipOf } from "./zip.ts";

/**
 * An npm registry below /npm/ and a Python index below /pypi/simple/, each with one package, `loomweight` 1.0.0. They
 * speak and refuse as the real ones do:
 *
 * - npm: a package's document and its archive, and 404 in JSON for others
 *   (https://github.com/npm/registry/blob/main/docs/responses/package-metadata.md)
 * - Python: an index whose names are normalised and end with a slash, and that sends others there
 *   (https://packaging.python.org/en/latest/specifications/simple-repository-api/)
 */
export interface FakeRegistries {
  port: number;
  /** Method and path of each request. */
  requests: string[];
  close(): Promise<void>;
}

const name = "loomweight";

/** @param origin of the addresses that it gives its files, without a port */
export async function startRegistries(origin: string): Promise<FakeRegistries> {
  const archive = packNpm();
  const wheel = packWheel();
  const requests: string[] = [];
  const server = createServer((request, response) => {
    const { method = "", url = "" } = request;
    requests.push(`${method} ${url}`);
    const { port } = server.address() as AddressInfo; // It listens on a port.
    const json = (status: number, body: object) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    request.resume();
    if (url === `/npm/${name}`) return json(200, describeNpm(archive, `${origin}:${port}`));
    if (url === `/npm/${name}/-/${name}-1.0.0.tgz`) return response.end(archive);
    if (url.startsWith("/npm/")) return json(404, { error: "Not found" });
    const [, asked] = /^\/pypi\/simple\/([^/]+)\/?$/.exec(url) ?? [];
    const normal = asked?.toLowerCase().replace(/[-_.]+/g, "-");
    if (normal !== undefined && url !== `/pypi/simple/${normal}/`) {
      return response.writeHead(301, { location: `/pypi/simple/${normal}/` }).end();
    }
    const file = `${name}-1.0.0-py3-none-any.whl`;
    if (normal === name) {
      const hash = createHash("sha256").update(wheel).digest("hex");
      const link = `<a href="/pypi/files/${file}#sha256=${hash}">${file}</a>`;
      return response.writeHead(200, { "content-type": "text/html" }).end(`<!DOCTYPE html>${link}`);
    }
    if (url === `/pypi/files/${file}`) return response.end(wheel);
    return response.writeHead(404).end();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    port: (server.address() as AddressInfo).port, // It listens on a port.
    requests,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

const manifest = { name, version: "1.0.0", main: "index.js" };

function packNpm(): Buffer {
  const folder = mkdtempSync(join(tmpdir(), "heddle-registry-"));
  try {
    mkdirSync(join(folder, "package"));
    writeFileSync(join(folder, "package", "package.json"), JSON.stringify(manifest));
    writeFileSync(join(folder, "package", "index.js"), "module.exports = 'from npm';\n");
    execFileSync("tar", ["-C", folder, "-czf", join(folder, "out.tgz"), "package"]);
    return readFileSync(join(folder, "out.tgz"));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function describeNpm(archive: Buffer, origin: string): object {
  const dist = {
    tarball: `${origin}/npm/${name}/-/${name}-1.0.0.tgz`,
    integrity: `sha512-${createHash("sha512").update(archive).digest("base64")}`,
    shasum: createHash("sha1").update(archive).digest("hex"),
  };
  return { name, "dist-tags": { latest: "1.0.0" }, versions: { "1.0.0": { ...manifest, dist } } };
}

function packWheel(): Buffer {
  const info = `${name}-1.0.0.dist-info`;
  return zipOf({
    [`${name}.py`]: "said = 'from pypi'\n",
    [`${info}/METADATA`]: `Metadata-Version: 2.1\nName: ${name}\nVersion: 1.0.0\n`,
    [`${info}/WHEEL`]: "Wheel-Version: 1.0\nGenerator: fake\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    [`${info}/RECORD`]: `${name}.py,,\n${info}/METADATA,,\n${info}/WHEEL,,\n${info}/RECORD,,\n`,
  });
}
