import { createPublicKey, randomBytes, verify } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { z } from "zod";
import { createGitServer, type GitRequest, type GitServer, readGitRequest } from "./git-server.ts";
import { answerAppPages, type AppPages, type FakeApp } from "./github-apps.ts";
import { closeServer, listen } from "./listen.ts";

/**
 * A GitHub: pull requests, App installations and their tokens (REST), and repositories over git's own HTTP server. It
 * refuses what GitHub refuses:
 *
 * - requests without a user agent (https://docs.github.com/en/rest/using-the-rest-api/getting-started-with-the-rest-api#user-agent)
 * - JSON Web Tokens that are not signed by the App's key with RS256, not yet or no longer valid, or valid for more than 10 minutes
 *   (https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/generating-a-json-web-token-jwt-for-a-github-app)
 * - installation tokens after an hour, for other repositories, and for what they have no permission for
 *   (https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/generating-an-installation-access-token-for-a-github-app)
 * - a second pull request for a branch, one for a branch that is not there, and one without a commit
 *   (https://docs.github.com/en/rest/pulls/pulls#create-a-pull-request, 422)
 */
export interface FakeGithub {
  /** Of the API and of git, for example `http://127.0.0.1:<port>`. */
  origin: string;
  port: number;
  /** Makes a repository with a first commit on main. */
  addRepository(title: string, files?: Record<string, string>): void;
  /** A token of a person's, with every permission for these repositories. */
  addToken(token: string, repositories: readonly string[], permissions?: Permissions): void;
  /** Nobody gets in with it any more. */
  revoke(token: string): void;
  /** An App that is installed for these repositories. */
  addApp(app: { clientId: string; publicKey: string; repositories: readonly string[] }): void;
  /** What it knows of Apps that people register and install in the browser. */
  appPages: AppPages;
  /** Tokens that it has given to the App, in their order. */
  issued: string[];
  /** Method and path of each request, without what signs in. */
  requests: string[];
  /** Bytes of each answer to git. */
  served: number[];
  /** git is not answered any more, or is again. */
  beSilent(isSilent: boolean): void;
  pulls: Pull[];
  git(title: string, ...args: string[]): string;
  close(): Promise<void>;
}

export interface Pull {
  number: number;
  repository: string;
  head: string;
  base: string;
  title: string;
  body: string;
  draft: boolean;
}

export type Permissions = Record<string, "read" | "write">;
interface Grant {
  repositories: readonly string[];
  permissions: Permissions;
  endsAt: number;
}

const all: Permissions = { contents: "write", pull_requests: "write", metadata: "read" };

export async function startGithub({
  now = Date.now,
  host = "127.0.0.1",
}: {
  now?(): number;
  host?: string;
} = {}): Promise<FakeGithub> {
  const gitServer = createGitServer();
  const { git } = gitServer;
  const grants = new Map<string, Grant>();
  const apps = new Map<string, FakeApp>();
  const titles: string[] = [];
  const appPages: AppPages = {
    ...{ apps, pending: new Map(), secrets: [], manifests: [], titles: () => titles, now },
  };
  const pulls: Pull[] = [];
  const issued: string[] = [];
  const requests: string[] = [];
  const served: number[] = [];
  let isSilent = false;
  const grantOf = (token: string): Grant | undefined => {
    const grant = grants.get(token);
    return grant && grant.endsAt > now() ? grant : undefined;
  };

  const context = {
    ...{ gitServer, grantOf, apps, appPages, pulls, issued, grants, now, served },
    isSilent: () => isSilent,
  };
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    answer(request, response, context).catch((error: unknown) => {
      response.destroy(error instanceof Error ? error : undefined);
    });
  });
  const port = await listen(server, host);

  return {
    origin: `http://${host}:${port}`,
    ...{ port, appPages, issued, requests, served, pulls, git },
    beSilent: (silent) => void (isSilent = silent),
    addRepository(title, files) {
      titles.push(title);
      gitServer.addRepository(title, files);
    },
    addToken(token, repositories, permissions = all) {
      grants.set(token, { repositories, permissions, endsAt: Number.POSITIVE_INFINITY });
    },
    revoke: (token) => void grants.delete(token),
    addApp({ clientId, publicKey, repositories }) {
      const owner = { login: "acme", type: "Organization" } as const;
      const key = createPublicKey(publicKey);
      const id = 1000 + apps.size;
      apps.set(clientId, { clientId, slug: clientId, key, id, owner, repositories: [...repositories] });
    },
    async close() {
      await closeServer(server);
      gitServer.close();
    },
  };
}

interface Context {
  gitServer: GitServer;
  grantOf(token: string): Grant | undefined;
  apps: ReadonlyMap<string, FakeApp>;
  appPages: AppPages;
  pulls: Pull[];
  issued: string[];
  grants: Map<string, Grant>;
  served: number[];
  isSilent(): boolean;
  now(): number;
}

async function answer(request: IncomingMessage, response: ServerResponse, context: Context): Promise<void> {
  const url = new URL(request.url ?? "", "http://github");
  const asked = readGitRequest(request);
  if (asked && context.isSilent()) return;
  if (asked) return await serveGit(request, response, asked, context);
  const reply = (status: number, body: object) =>
    void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  if (!request.headers["user-agent"])
    return reply(403, { message: "Request forbidden by administrative rules." });
  const bytes = await buffer(request);
  url.host = request.headers.host ?? url.host;
  const page = answerAppPages(request.method ?? "", url, bytes.toString(), context.appPages);
  if (page?.body) return reply(page.status, page.body);
  if (page) {
    const headers = { "content-type": "text/html", ...(page.location && { location: page.location }) };
    return void response.writeHead(page.status, headers).end(page.html ?? "");
  }
  const body = parse(bytes);
  const token = /^(?:Bearer|token) (.+)$/.exec(request.headers.authorization ?? "")?.[1] ?? "";
  const found = answerInstallation(request.method ?? "", url.pathname, token, context) ??
    answerApp(request.method ?? "", url.pathname, { token, body, context }) ??
    answerPulls(request.method ?? "", url, { token, body, context }) ?? {
      status: 404,
      body: { message: "Not Found" },
    };
  reply(found.status, found.body);
}

interface Asked {
  token: string;
  body: unknown;
  context: Context;
}

/** https://docs.github.com/en/rest/apps/installations */
function answerInstallation(
  method: string,
  path: string,
  token: string,
  { grants, grantOf }: Context,
): { status: number; body: object } | undefined {
  if (path !== "/installation/repositories" && path !== "/installation/token") return undefined;
  const grant = grantOf(token);
  if (!grant) return { status: 401, body: { message: "Bad credentials" } };
  if (method === "DELETE") {
    grants.delete(token);
    return { status: 204, body: {} };
  }
  const repositories = grant.repositories.map((title) => ({ full_name: title }));
  return { status: 200, body: { total_count: repositories.length, repositories } };
}

function answerApp(
  method: string,
  path: string,
  { token, body, context }: Asked,
): { status: number; body: object } | undefined {
  const [, owner, name] = /^\/repos\/([^/]+)\/([^/]+)\/installation$/.exec(path) ?? [];
  const [, id] = /^\/app\/installations\/(\d+)\/access_tokens$/.exec(path) ?? [];
  const isList = method === "GET" && path === "/app/installations";
  if (!name && !id && !isList && path !== "/app") return undefined;
  const app = readApp(token, context);
  if (typeof app === "string") return { status: 401, body: { message: app } };
  if (isList) {
    const suspended_at = app.isSuspended ? "2026-11-01T00:00:00Z" : null;
    const one = { id: app.id, account: app.owner, repository_selection: "selected", suspended_at };
    return { status: 200, body: app.repositories.length > 0 ? [one] : [] };
  }
  // https://docs.github.com/en/rest/apps/apps#get-the-authenticated-app
  if (path === "/app")
    return method === "GET"
      ? { status: 200, body: { id: app.id, slug: "heddle-app", name: "Heddle App" } }
      : { status: 404, body: { message: "Not Found" } };
  if (method === "GET" && name) {
    return app.repositories.includes(`${owner}/${name}`)
      ? { status: 200, body: { id: app.id, app_id: 1 } }
      : { status: 404, body: { message: "Not Found" } };
  }
  if (method !== "POST" || Number(id) !== app.id) return { status: 404, body: { message: "Not Found" } };
  const wanted = z
    .object({
      repositories: z.array(z.string()).optional(),
      permissions: z.record(z.string(), z.enum(["read", "write"])).optional(),
    })
    .parse(body ?? {});
  const repositories = wanted.repositories
    ? app.repositories.filter((each) => wanted.repositories?.includes(each.split("/")[1] ?? ""))
    : app.repositories;
  if (repositories.length < (wanted.repositories?.length ?? 0)) {
    return {
      status: 422,
      body: {
        message:
          "There is at least one repository that does not exist or is not accessible to the parent installation.",
      },
    };
  }
  const ungranted = Object.keys(wanted.permissions ?? {}).filter(
    (each) => app.permissions && !app.permissions[each],
  );
  if (ungranted.length > 0) {
    const message = "The permissions requested are not granted to this installation.";
    return { status: 422, body: { message } };
  }
  // https://github.blog/changelog/2026-05-15-github-app-installation-tokens-per-request-override-header/
  const made = `ghs_1234567_eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJn${randomBytes(12).toString("hex")}.${randomBytes(128).toString("base64url")}`;
  const endsAt = context.now() + 3_600_000;
  const permissions = wanted.permissions ?? all;
  context.grants.set(made, { repositories, permissions, endsAt });
  context.issued.push(made);
  return { status: 201, body: { token: made, expires_at: new Date(endsAt).toISOString(), permissions } };
}

function readApp(token: string, { apps, now }: Context): FakeApp | string {
  const [head = "", payload = "", signature = ""] = token.split(".");
  const claims = z
    .object({ iat: z.number(), exp: z.number(), iss: z.string() })
    .safeParse(parse(Buffer.from(payload, "base64url")));
  const alg = z.object({ alg: z.literal("RS256") }).safeParse(parse(Buffer.from(head, "base64url")));
  if (!claims.success || !alg.success) return "A JSON web token could not be decoded";
  const { iat, exp, iss } = claims.data;
  const app = apps.get(iss);
  const signed = Buffer.from(`${head}.${payload}`);
  if (!app) return "'Issuer' claim ('iss') must be an Integer or a client ID";
  if (!verify("sha256", signed, app.key, Buffer.from(signature, "base64url"))) {
    return "A JSON web token could not be decoded";
  }
  const seconds = now() / 1_000;
  if (iat > seconds)
    return "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued";
  if (exp <= seconds)
    return "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires";
  if (exp > seconds + 600) return "'Expiration time' claim ('exp') is too far in the future";
  return app;
}

const proposal = z.object({
  title: z.string().min(1),
  head: z.string(),
  base: z.string(),
  body: z.string().default(""),
  draft: z.boolean().default(false),
});

function answerPulls(
  method: string,
  url: URL,
  { token, body, context }: Asked,
): { status: number; body: object } | undefined {
  const [, owner = "", name] = /^\/repos\/([^/]+)\/([^/]+)\/pulls$/.exec(url.pathname) ?? [];
  if (!name) return undefined;
  const grant = context.grantOf(token);
  const repository = `${owner}/${name}`;
  if (!grant) return { status: 401, body: { message: "Bad credentials" } };
  if (!grant.repositories.includes(repository)) return { status: 404, body: { message: "Not Found" } };
  const may = grant.permissions["pull_requests"];
  if (!may || (method === "POST" && may !== "write")) {
    return { status: 403, body: { message: "Resource not accessible by integration" } };
  }
  const show = (pull: Pull) => ({
    ...pull,
    html_url: `https://github.example/${repository}/pull/${pull.number}`,
  });
  const mine = context.pulls.filter((pull) => pull.repository === repository);
  if (method === "GET") {
    const [head, base] = [url.searchParams.get("head"), url.searchParams.get("base")];
    const found = mine.filter((pull) => `${owner}:${pull.head}` === head && [null, pull.base].includes(base));
    return { status: 200, body: found.map(show).toReversed() };
  }
  const asked = proposal.parse(body);
  const invalid = (error: object) => ({
    status: 422,
    body: { message: "Validation Failed", errors: [{ resource: "PullRequest", ...error }] },
  });
  const { git, tip } = context.gitServer;
  if (!tip(repository, asked.base)) return invalid({ field: "base", code: "invalid" });
  if (!tip(repository, asked.head)) return invalid({ field: "head", code: "invalid" });
  if (git(repository, "rev-list", "--count", `${asked.base}..${asked.head}`) === "0") {
    return invalid({ code: "custom", message: `No commits between ${asked.base} and ${asked.head}` });
  }
  if (mine.some((pull) => pull.head === asked.head && pull.base === asked.base)) {
    return invalid({ code: "custom", message: `A pull request already exists for ${owner}:${asked.head}.` });
  }
  const pull = { number: context.pulls.length + 1, repository, ...asked };
  context.pulls.push(pull);
  return { status: 201, body: show(pull) };
}

/** For who signs in with a token as the password. */
async function serveGit(
  request: IncomingMessage,
  response: ServerResponse,
  asked: GitRequest,
  { gitServer, grantOf, served }: Context,
): Promise<void> {
  const { title, isPush, password } = asked;
  const grant = grantOf(password);
  const refuse = (status: number, text: string) => {
    request.resume();
    response
      .writeHead(status, { "content-type": "text/plain", "www-authenticate": 'Basic realm="GitHub"' })
      .end(text);
  };
  if (!grant) return refuse(401, "Invalid username or token.\n");
  if (!grant.repositories.includes(title)) return refuse(404, "Repository not found.\n");
  const contents = grant.permissions["contents"];
  if (!contents || (isPush && contents !== "write"))
    return refuse(403, "Write access to repository not granted.\n");
  served.push(await gitServer.serve(request, response, asked));
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
}
