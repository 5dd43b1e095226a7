import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectSecurely } from "node:tls";
import type { Dialer } from "../../../src/sandbox/egress/dialer.ts";
import { closeServer, listen } from "../../fakes/listen.ts";

/** An internet on loopback: names that a test gives addresses, and behind every public address one server. */
export interface StandIn {
  dialer: Dialer;
  /** What was dialled, as `address:port`. */
  dialled: string[];
  /** Names that were looked up. */
  resolved: string[];
  /** Requests that arrived: method, path and headers. */
  requests: { method: string; path: string; headers: IncomingMessage["headers"]; body: string }[];
  close(): Promise<void>;
}

/**
 * @param names each name's addresses, which a test may change
 * @param options.unproven names that the servers have no certificate for
 * @param options.repositories git repositories below /team/, for who signs in with that header
 */
export async function standIn(
  names: Record<string, string[]>,
  options: { unproven?: readonly string[]; repositories?: Repositories } = {},
): Promise<StandIn> {
  const { unproven = [], repositories } = options;
  const { key, cert } = certificate(Object.keys(names).filter((name) => !unproven.includes(name)));
  const requests: StandIn["requests"] = [];
  const dialled: string[] = [];
  const resolved: string[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer); // No encoding is set.
    const body = Buffer.concat(chunks);
    const { method = "", url: path = "", headers } = request;
    requests.push({ method, path, headers, body: body.toString() });
    const [, to] = /^\/redirect\?(.*)$/.exec(request.url ?? "") ?? [];
    if (repositories && path.startsWith("/team/")) return serveGit(repositories, request, body, response);
    if (to !== undefined) response.writeHead(302, { location: to }).end();
    else if (request.url === "/large") response.end(Buffer.alloc(3_000_000));
    else response.end(`hello from ${request.headers.host}\n`);
  };
  const secure = createSecureServer({ key, cert }, (request, response) => void answer(request, response));
  const plain = createServer((request, response) => void answer(request, response));
  const ports = { secure: await listen(secure), plain: await listen(plain) };
  return {
    requests,
    dialled,
    resolved,
    dialer: {
      async resolve(host) {
        resolved.push(host);
        const addresses = names[host];
        if (!addresses) throw new Error("ENOTFOUND");
        return addresses;
      },
      connect(address, port) {
        dialled.push(`${address}:${port}`);
        return connect(port === 443 ? ports.secure : ports.plain, "127.0.0.1");
      },
      secure: (socket, host) => connectSecurely({ socket, servername: host, ca: cert }),
    },
    async close() {
      for (const server of [secure, plain]) await closeServer(server);
    },
  };
}

interface Repositories {
  folder: string;
  authorization: string;
}

/** As servers of git do it, with git's own program (gitprotocol-http(5)). */
function serveGit(
  { folder, authorization }: Repositories,
  { method, url = "", headers }: IncomingMessage,
  body: Buffer,
  response: ServerResponse,
): void {
  if (headers.authorization !== authorization) {
    response.writeHead(401, { "www-authenticate": "Basic" }).end();
    return;
  }
  const [path = "", query = ""] = url.split("?");
  const { stdout } = spawnSync("git", ["http-backend"], {
    input: body,
    env: {
      ...{
        PATH: process.env["PATH"],
        GIT_PROJECT_ROOT: folder,
        GIT_HTTP_EXPORT_ALL: "1",
        REMOTE_USER: "agent",
      },
      ...{
        PATH_INFO: path,
        QUERY_STRING: query,
        REQUEST_METHOD: method,
        CONTENT_TYPE: headers["content-type"],
      },
      ...{ HTTP_CONTENT_ENCODING: headers["content-encoding"], GIT_CONFIG_COUNT: "1" },
      ...{ GIT_CONFIG_KEY_0: "safe.directory", GIT_CONFIG_VALUE_0: "*" },
    },
  });
  const end = stdout.indexOf("\r\n\r\n");
  const lines = stdout.toString("latin1", 0, end).split("\r\n");
  for (const line of lines) {
    const [name = "", value = ""] = line.split(": ");
    if (name === "Status") response.statusCode = Number.parseInt(value, 10);
    else response.setHeader(name, value);
  }
  response.end(stdout.subarray(end + 4));
}

/** A certificate of our own for these names. */
function certificate(names: string[]): { key: string; cert: string } {
  const folder = mkdtempSync(join(tmpdir(), "heddle-certificate-"));
  try {
    const [key, cert] = [join(folder, "key"), join(folder, "cert")];
    const subject = [
      "-subj",
      "/CN=test",
      "-addext",
      `subjectAltName=${names.map((name) => `DNS:${name}`).join(",")}`,
    ];
    const kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"];
    execFileSync("openssl", ["req", ...kind, "-keyout", key, "-out", cert, ...subject], { stdio: "ignore" });
    return { key: readFileSync(key, "utf8"), cert: readFileSync(cert, "utf8") };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
