import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectSecurely } from "node:tls";
import type { Uplink } from "../../../src/sandbox/egress/uplink.ts";

/** An internet on loopback: names that a test gives addresses, and behind every public address one server. */
export interface StandIn {
  uplink: Uplink;
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
 * @param unproven names that the servers have no certificate for
 */
export async function standIn(
  names: Record<string, string[]>,
  unproven: readonly string[] = [],
): Promise<StandIn> {
  const { key, cert } = certificate(Object.keys(names).filter((name) => !unproven.includes(name)));
  const requests: StandIn["requests"] = [];
  const dialled: string[] = [];
  const resolved: string[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer); // No encoding is set.
    const body = Buffer.concat(chunks).toString();
    requests.push({ method: request.method ?? "", path: request.url ?? "", headers: request.headers, body });
    const [, to] = /^\/redirect\?(.*)$/.exec(request.url ?? "") ?? [];
    if (to !== undefined) response.writeHead(302, { location: to }).end();
    else if (request.url === "/large") response.end(Buffer.alloc(3_000_000));
    else response.end(`hello from ${request.headers.host}\n`);
  };
  const secure = createSecureServer({ key, cert }, (request, response) => void answer(request, response));
  const plain = createServer((request, response) => void answer(request, response));
  for (const server of [secure, plain]) await once(server.listen(0, "127.0.0.1"), "listening");
  const portOf = (server: { address(): AddressInfo | string | null }) =>
    (server.address() as AddressInfo).port;
  return {
    requests,
    dialled,
    resolved,
    uplink: {
      async resolve(host) {
        resolved.push(host);
        const addresses = names[host];
        if (!addresses) throw new Error("ENOTFOUND");
        return addresses;
      },
      connect(address, port) {
        dialled.push(`${address}:${port}`);
        return connect(portOf(port === 443 ? secure : plain), "127.0.0.1");
      },
      secure: (socket, host) => connectSecurely({ socket, servername: host, ca: cert }),
    },
    async close() {
      for (const server of [secure, plain]) {
        server.closeAllConnections();
        server.close();
        await once(server, "close");
      }
    },
  };
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
