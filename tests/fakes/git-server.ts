import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";

/** Repositories in a folder, served as git's own server does it (git-http-backend(1)). Who may what is the host's affair. */
export interface GitServer {
  /** Makes a repository with a first commit on main. */
  addRepository(title: string, files?: Record<string, string>): void;
  /** A commit of somebody else's on a branch that is there. */
  commit(title: string, branch: string, change: { subject: string; files: Record<string, string> }): void;
  git(title: string, ...args: string[]): string;
  /** The commit at the tip of a branch; undefined where there is none. */
  tip(title: string, branch: string): string | undefined;
  /** Answers a request of git's, and gives how many bytes the answer had. */
  serve(request: IncomingMessage, response: ServerResponse, asked: GitRequest): Promise<number>;
  close(): void;
}

/** What a request of git's is for. */
export interface GitRequest {
  /** Owner and name. */
  title: string;
  service: string;
  query: string;
  isPush: boolean;
  /** What signs in, whatever the user is called; empty without. */
  password: string;
}

export function createGitServer(): GitServer {
  const folder = mkdtempSync(join(tmpdir(), "heddle-git-"));
  const pathOf = (title: string) => `${title.toLowerCase()}.git`;
  const git = (title: string, ...args: string[]) =>
    execFileSync("git", ["-C", join(folder, pathOf(title)), ...args], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }).trim();
  const tip: GitServer["tip"] = (title, branch) => {
    try {
      return git(title, "rev-parse", "--verify", "-q", `refs/heads/${branch}`);
    } catch {
      return undefined;
    }
  };
  const commit: GitServer["commit"] = (title, branch, { subject, files }) => {
    const before = tip(title, branch);
    const stream = [
      `commit refs/heads/${branch}\ncommitter A <a@example.com> 1700000000 +0000\ndata ${Buffer.byteLength(subject)}\n${subject}\n`,
      ...(before === undefined ? [] : [`from ${before}\n`]),
      ...Object.entries(files).map(
        ([name, text]) => `M 644 inline ${name}\ndata ${Buffer.byteLength(text)}\n${text}\n`,
      ),
    ].join("");
    execFileSync("git", ["-C", join(folder, pathOf(title)), "fast-import", "--quiet"], { input: stream });
  };
  return {
    git,
    addRepository(title, files = { "README.md": "# A shop\n" }) {
      const path = join(folder, pathOf(title));
      execFileSync("git", ["init", "-q", "--bare", "-b", "main", path]);
      git(title, "config", "http.receivepack", "true");
      commit(title, "main", { subject: "first", files });
    },
    commit,
    tip,
    async serve(request, response, { title, service, query }) {
      const child = spawn("git", ["http-backend"], {
        stdio: ["pipe", "pipe", "ignore"],
        env: {
          ...{ PATH: process.env["PATH"], GIT_PROJECT_ROOT: folder, GIT_HTTP_EXPORT_ALL: "1" },
          ...{ REMOTE_USER: "app", PATH_INFO: `/${pathOf(title)}/${service}`, QUERY_STRING: query },
          ...{ REQUEST_METHOD: request.method, CONTENT_TYPE: request.headers["content-type"] },
          HTTP_CONTENT_ENCODING: request.headers["content-encoding"],
          GIT_PROTOCOL: String(request.headers["git-protocol"] ?? ""),
        },
      });
      child.stdin.on("error", () => {});
      request.pipe(child.stdin);
      const output = await buffer(child.stdout);
      const end = output.indexOf("\r\n\r\n");
      for (const line of output.toString("latin1", 0, end).split("\r\n")) {
        const [name = "", value = ""] = line.split(": ");
        if (name === "Status") response.statusCode = Number.parseInt(value, 10);
        else response.setHeader(name, value);
      }
      response.end(output.subarray(end + 4));
      return output.length;
    },
    close: () => rmSync(folder, { recursive: true }),
  };
}

/** Undefined for requests that are none of git's. */
export function readGitRequest({ url = "", headers }: IncomingMessage): GitRequest | undefined {
  const { pathname, search, searchParams } = new URL(url, "http://host");
  const [, title = "", service = ""] =
    /^\/(.+?)(?:\.git)?\/(info\/refs|git-upload-pack|git-receive-pack)$/.exec(pathname) ?? [];
  if (service === "") return undefined;
  const isPush = [service, searchParams.get("service")].includes("git-receive-pack");
  const signedIn = Buffer.from((headers.authorization ?? "").replace(/^Basic /, ""), "base64").toString();
  const password = signedIn.slice(signedIn.indexOf(":") + 1);
  return { title, service, query: search.slice(1), isPush, password };
}
