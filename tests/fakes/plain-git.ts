import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createGitServer, type GitServer, readGitRequest } from "./git-server.ts";
import { closeServer } from "./listen.ts";

/**
 * What a server does with a repository instead of serving it:
 *
 * - `silent`: takes the request and says nothing
 * - `moved`: sends git elsewhere, as git follows it for its first request alone (http.followRedirects in git-config(1))
 * - `endless`: sends a pack of one file that has no end (gitformat-pack(5), with stored blocks of RFC 1951)
 */
export type PlainTrouble = { kind: "silent" } | { kind: "moved"; to: string } | { kind: "endless" };

/**
 * Git's own HTTP server behind a name and a password (git-http-backend(1), "Basic" of RFC 7617): whoever signs in wrongly, or
 * not at all, gets 401, to read and to push.
 */
export interface PlainGit {
  origin: string;
  server: GitServer;
  /** The password that it takes; another one ends the earlier. */
  token: string;
  /** By the repository's path. */
  troubles: Map<string, PlainTrouble>;
  /** Called when a push begins, before anything is answered. */
  onPush: (() => void) | undefined;
  /** Requests as they came, in their order: method, address and what signed in. */
  requests: { method: string; url: string; authorization: string | undefined }[];
  close(): Promise<void>;
}

export async function startPlainGit(options: {
  user: string;
  token: string;
  host: string;
}): Promise<PlainGit> {
  const listener = createServer();
  await once(listener.listen(0, options.host), "listening");
  const { address, port } = listener.address() as AddressInfo; // It listens on a port.
  const server = createGitServer();
  const git: PlainGit = {
    ...{ origin: `http://${address}:${port}`, server, token: options.token },
    ...{ troubles: new Map(), onPush: undefined, requests: [] },
    async close() {
      await closeServer(listener);
      server.close();
    },
  };
  listener.on("request", (request, response) => {
    answer(git, options.user, { request, response }).catch(() => response.destroy());
  });
  return git;
}

async function answer(
  git: PlainGit,
  user: string,
  { request, response }: { request: IncomingMessage; response: ServerResponse },
): Promise<void> {
  const { method = "", url = "", headers } = request;
  git.requests.push({ method, url, authorization: headers.authorization });
  const asked = readGitRequest(request);
  const signsIn = `Basic ${Buffer.from(`${user}:${git.token}`).toString("base64")}`;
  const trouble = git.troubles.get(asked?.title ?? "");
  if (trouble?.kind === "silent") return void request.resume();
  if (trouble?.kind === "moved") {
    request.resume();
    return void response.writeHead(302, { location: `${trouble.to}${url}` }).end();
  }
  if (!asked || headers.authorization !== signsIn) {
    request.resume();
    const refusal = { "content-type": "text/plain", "www-authenticate": 'Basic realm="git"' };
    return void response.writeHead(asked ? 401 : 404, refusal).end("Who are you?\n");
  }
  if (trouble?.kind === "endless") {
    // In the older protocol the references come with the first answer, and the pack with the second.
    delete headers["git-protocol"];
    if (method === "POST") return void request.resume().on("end", () => sendWithoutEnd(response));
  }
  if (asked.isPush && method === "GET") git.onPush?.();
  await git.server.serve(request, response, asked);
}

function sendWithoutEnd(response: ServerResponse): void {
  const line = (...parts: Buffer[]) => {
    const bytes = Buffer.concat(parts);
    return Buffer.concat([Buffer.from((bytes.length + 4).toString(16).padStart(4, "0")), bytes]);
  };
  const data = (bytes: Buffer) => line(Buffer.from([1]), bytes);
  // One blob of 2^39 bytes: the size has four bits beside the type, then seven in each byte.
  const size = Buffer.from([0xb0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01]);
  const zlib = Buffer.from([0x78, 0x01]);
  const stored = Buffer.concat([Buffer.from([0, 0x00, 0x80, 0xff, 0x7f]), Buffer.alloc(32_768)]);
  response.writeHead(200, { "content-type": "application/x-git-upload-pack-result" });
  response.write(line(Buffer.from("NAK\n")));
  response.write(data(Buffer.concat([Buffer.from("PACK\0\0\0\x02\0\0\0\x01", "latin1"), size, zlib])));
  const pour = () => {
    while (!response.destroyed && response.write(data(stored)));
  };
  response.on("drain", pour);
  pour();
}
