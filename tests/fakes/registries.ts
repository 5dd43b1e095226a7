import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { zipOf } from "./zip.ts";
import { closeServer, listen } from "./listen.ts";

/**
 * An npm registry below /npm/, a Python index below /pypi/simple/, a sparse index of crates below /crates/index/ and a
 * Debian repository below /apt/, each with one package, `loomweight` 1.0.0. They speak and refuse as the real ones do; where
 * there is a key, the Debian repository is below /signed/ too, and changed by somebody else below /forged/:
 *
 * - npm: a package's document and its archive, and 404 in JSON for others
 *   (https://github.com/npm/registry/blob/main/docs/responses/package-metadata.md)
 * - Python: an index whose names are normalised and end with a slash, and that sends others there
 *   (https://packaging.python.org/en/latest/specifications/simple-repository-api/)
 * - crates: a line of JSON for each version at a path of the name's letters, 404 for others, and archives where
 *   `config.json` says (https://doc.rust-lang.org/cargo/reference/registry-index.html)
 * - Debian: a suite with one component, unsigned or with the signature in `InRelease`
 *   (https://wiki.debian.org/DebianRepository/Format)
 */
export interface FakeRegistries {
  port: number;
  /** Method and path of each request. */
  requests: string[];
  close(): Promise<void>;
}

const name = "loomweight";

/**
 * @param origin of the addresses that it gives its files, without a port
 * @param sign gives a text with its signature (RFC 9580, "Cleartext Signature Framework")
 */
export async function startRegistries(
  origin: string,
  sign?: (text: Buffer) => Buffer,
): Promise<FakeRegistries> {
  const archive = packNpm();
  const crate = packCrate();
  const debian = packDebian(sign);
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
    if (url === "/crates/index/config.json") return json(200, { dl: `${origin}:${port}/crates/dl` });
    if (url === "/crates/index/lo/om/loomweight") return json(200, describeCrate(crate));
    if (url === `/crates/dl/${name}/1.0.0/download`) return response.end(crate);
    const found = debian.get(url.slice(1));
    if (found) return response.end(found);
    return response.writeHead(404).end();
  });
  return {
    port: await listen(server),
    requests,
    async close() {
      await closeServer(server);
    },
  };
}

const manifest = { name, version: "1.0.0", main: "index.js" };

function packNpm(): Buffer {
  return packTar("package", {
    "package/package.json": JSON.stringify(manifest),
    "package/index.js": "module.exports = 'from npm';\n",
  });
}

/** Packs a folder of these files. */
function packTar(top: string, files: Readonly<Record<string, string>>): Buffer {
  const folder = mkdtempSync(join(tmpdir(), "heddle-registry-"));
  try {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    execFileSync("tar", ["-C", folder, "-czf", join(folder, "out.tgz"), top]);
    return readFileSync(join(folder, "out.tgz"));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

function packCrate(): Buffer {
  const top = `${name}-1.0.0`;
  return packTar(top, {
    [`${top}/Cargo.toml`]: `[package]\nname = "${name}"\nversion = "1.0.0"\nedition = "2021"\n`,
    [`${top}/src/lib.rs`]: 'pub const SAID: &str = "from crates";\n',
  });
}

function describeCrate(crate: Buffer): object {
  return { name, vers: "1.0.0", deps: [], cksum: sha256(crate), features: {}, yanked: false };
}

/** A repository's files by their paths, for the two usual kinds of machine. */
function packDebian(sign?: (text: Buffer) => Buffer): Map<string, Buffer> {
  const control = [
    ...[`Package: ${name}`, "Version: 1.0.0", "Architecture: all"],
    ...["Maintainer: Ada <ada@example.com>", "Description: weighs down the warp", ""],
  ].join("\n");
  // deb(5): an ar archive of three members.
  const member = (title: string, bytes: Buffer) => {
    const head = `${title.padEnd(16)}${"0".padEnd(12)}${"0".padEnd(6)}${"0".padEnd(6)}${"100644".padEnd(8)}${String(bytes.length).padEnd(10)}\`\n`;
    return Buffer.concat([Buffer.from(head), bytes, Buffer.alloc(bytes.length % 2, "\n")]);
  };
  const archive = Buffer.concat([
    Buffer.from("!<arch>\n"),
    member("debian-binary", Buffer.from("2.0\n")),
    member("control.tar.gz", packTar("./control", { control })),
    member("data.tar.gz", packTar("./usr", { "usr/share/loomweight": "from apt\n" })),
  ]);
  const place = `pool/${name}_1.0.0_all.deb`;
  const packages = Buffer.from(
    `${control}Filename: ${place}\nSize: ${archive.length}\nSHA256: ${sha256(archive)}\n`,
  );
  const lists = ["amd64", "arm64"].map((machine) => `main/binary-${machine}/Packages`);
  const release = [
    ...["Suite: stable", "Codename: stable", "Components: main", "Architectures: amd64 arm64", "SHA256:"],
    ...lists.map((list) => ` ${sha256(packages)} ${packages.length} ${list}`),
  ].join("\n");
  const files = [
    [place, archive],
    ...lists.map((list) => [`dists/stable/${list}`, packages] as const),
  ] as const;
  const below = (folder: string, more: readonly (readonly [string, Buffer])[]) =>
    [...files, ...more].map(([path, content]) => [`${folder}/${path}`, content] as const);
  const unsigned = Buffer.from(`${release}\n`);
  const signed = sign?.(unsigned);
  const forged = signed?.toString().replace("Suite: stable", "Suite: stale!");
  return new Map([
    ...below("apt", [["dists/stable/Release", unsigned]]),
    ...(signed ? below("signed", [["dists/stable/InRelease", signed]]) : []),
    ...(forged === undefined ? [] : below("forged", [["dists/stable/InRelease", Buffer.from(forged)]])),
  ]);
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
