import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { z } from "zod";
import { createGitServer, type GitServer, readGitRequest } from "./git-server.ts";
import { closeServer } from "./listen.ts";

/** What a request to a host's API was, and the answer. */
type Answer = (
  request: { method: string; path: string; query: URLSearchParams; body: unknown },
  fake: FakeApi,
) => { status: number; body: object };

export interface FakeApi {
  /** Its API is below `/forge` as well, like that of a host that is served below a path. */
  origin: string;
  /** Whether it answers; otherwise every request is cut off. */
  isAway: boolean;
  /** Its repositories, served over http to whoever signs in with the token as the password. */
  server: GitServer;
  /** What was opened there, in its order. */
  opened: { branch: string; base: string; title: string; body: string }[];
  close(): Promise<void>;
}

/** How a host takes a token, and how it says what it is. */
interface HostSettings {
  token: string;
  header: string;
  value: string;
  realm: string;
  /** Where it listens: names and addresses of loopback are never asked for by way of a proxy, but for a few. */
  host: string | undefined;
}

/**
 * The merge requests of a GitLab: 201 with `iid`, 409 for a second one of a branch for the same target, 404 for whoever may not see the project
 * (https://docs.gitlab.com/api/merge_requests/#create-mr; 409 in lib/api/merge_requests.rb and app/services/merge_requests).
 * And its members: 404 for whoever is none (https://docs.gitlab.com/api/project_members/). Repositories are served at
 * addresses with `.git` alone (config/routes/git_http.rb).
 *
 * @param members access levels by the person's id
 */
export function startGitlab(
  token: string,
  members: Readonly<Record<number, number>> = {},
  host?: string,
): Promise<FakeApi> {
  const requests: { iid: number; source_branch: string; target_branch: string; web_url: string }[] = [];
  const wanted = z.object({
    source_branch: z.string(),
    target_branch: z.string(),
    title: z.string(),
    description: z.string().max(1_048_576),
  });
  const settings = { token, header: "private-token", value: token, realm: "GitLab", host };
  return start(settings, ({ method, path, query, body }, { opened }) => {
    const [, person] = /^\/api\/v4\/projects\/acme%2Ftools%2Fshop\/members\/all\/(\d+)$/.exec(path) ?? [];
    if (method === "GET" && person !== undefined) {
      const access_level = members[Number(person)];
      return access_level === undefined
        ? { status: 404, body: { message: "404 Not found" } }
        : { status: 200, body: { id: Number(person), access_level, state: "active" } };
    }
    if (path !== "/api/v4/projects/acme%2Ftools%2Fshop/merge_requests") {
      return { status: 404, body: { message: "404 Project Not Found" } };
    }
    if (method === "GET") {
      const isWanted = (each: (typeof requests)[number]) =>
        (["source_branch", "target_branch"] as const).every((key) =>
          [null, each[key]].includes(query.get(key)),
        );
      const found = requests.filter(isWanted).toReversed();
      return { status: 200, body: query.get("state") === "opened" ? found : [] };
    }
    const { source_branch, target_branch, title, description } = wanted.parse(body);
    const there = requests.find(
      (each) => each.source_branch === source_branch && each.target_branch === target_branch,
    );
    if (there) {
      const message = [`Another open merge request already exists for this source branch: !${there.iid}`];
      return { status: 409, body: { message } };
    }
    const iid = requests.length + 1;
    const made = {
      iid,
      source_branch,
      target_branch,
      web_url: `https://gitlab.example/acme/tools/shop/-/merge_requests/${iid}`,
    };
    requests.push(made);
    opened.push({ branch: source_branch, base: target_branch, title, body: description });
    return { status: 201, body: made };
  });
}

/**
 * The pull requests of a Gitea or Forgejo: 201, 409 for a second one, which is found by base and head (`repoCreatePullRequest`
 * and `repoGetPullRequestByBaseHead` in https://docs.gitea.com/api/ and routers/api/v1/repo/pull.go), 404 for branches that
 * are not there (`parseCompareInfo`). Collaborators and members
 * of organizations are 204, everybody else 404 (`repoCheckCollaborator`, `orgIsMember`); what a person may do is told to
 * administrators alone (`repoGetRepoPermissions`: 403).
 */
export function startGitea(
  token: string,
  { collaborators = [], members = [], remarks = [], reviewed = 17 }: GiteaPeople = {},
  host?: string,
): Promise<FakeApi> {
  const pulls: { number: number; html_url: string; base: string; head: string }[] = [];
  const wanted = z.object({ head: z.string(), base: z.string(), title: z.string(), body: z.string() });
  const settings = { token, header: "authorization", value: `token ${token}`, realm: "Gitea", host };
  return start(settings, ({ method, path, body }, { opened, server }) => {
    const [, group = "", login = ""] =
      /^\/api\/v1\/(repos\/acme\/shop\/collaborators|orgs\/acme\/members)\/([^/]+)$/.exec(path) ?? [];
    if (method === "GET" && login !== "") {
      const list = group.startsWith("orgs") ? members : collaborators;
      return list.includes(login) ? { status: 204, body: {} } : { status: 404, body: {} };
    }
    if (/\/collaborators\/[^/]+\/permission$/.test(path)) return { status: 403, body: {} };
    if (method === "GET" && path === `/api/v1/repos/acme/shop/pulls/${reviewed}/reviews`) {
      return {
        status: 200,
        body: [
          { id: 3, user: { login: "ben" } },
          { id: 4, user: { login: "eve" } },
        ],
      };
    }
    if (method === "GET" && path === `/api/v1/repos/acme/shop/pulls/${reviewed}/reviews/3/comments`) {
      return { status: 200, body: remarks };
    }
    const [, base, head] = /^\/api\/v1\/repos\/acme\/shop\/pulls\/([^/]+)\/([^/]+)$/.exec(path) ?? [];
    if (method === "GET" && base && head) {
      const found = pulls.find((each) => each.base === base && each.head === decodeURIComponent(head));
      return found ? { status: 200, body: found } : { status: 404, body: { message: "not found" } };
    }
    if (method !== "POST" || path !== "/api/v1/repos/acme/shop/pulls") return { status: 404, body: {} };
    const asked = wanted.parse(body);
    if (![asked.base, asked.head].every((branch) => server.tip("acme/shop", branch))) {
      return { status: 404, body: { message: "The target couldn't be found." } };
    }
    if (pulls.some((each) => each.head === asked.head && each.base === asked.base)) {
      const message = `pull request already exists for these targets [id: 1, issue_id: 1, head_repo_id: 1, base_repo_id: 1, head_branch: ${asked.head}, base_branch: ${asked.base}]`;
      return { status: 409, body: { message } };
    }
    const number = pulls.length + 1;
    const made = { number, html_url: `https://gitea.example/acme/shop/pulls/${number}`, ...asked };
    pulls.push(made);
    opened.push({ branch: asked.head, base: asked.base, title: asked.title, body: asked.body });
    return { status: 201, body: made };
  });
}

interface GiteaPeople {
  collaborators?: readonly string[];
  members?: readonly string[];
  /** On lines, of the review by ben. */
  remarks?: readonly object[];
  /** The pull request that ben has reviewed. */
  reviewed?: number;
}

async function start(settings: HostSettings, answer: Answer): Promise<FakeApi> {
  const listener = createServer();
  const fake = createFake(listener);
  listener.on("request", (request, response) => {
    const url = new URL(request.url ?? "", "http://host");
    const reply = (status: number, body: object) =>
      void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    const work = async () => {
      if (fake.isAway) return void response.destroy();
      if (readGitRequest(request)) return await serveGit(request, response, fake, settings);
      if (request.headers[settings.header] !== settings.value)
        return reply(401, { message: "401 Unauthorized" });
      const body = request.method === "POST" ? await json(request) : undefined;
      const path = url.pathname.replace(/^\/forge(?=\/)/, "");
      const asked = { method: request.method ?? "", path, query: url.searchParams, body };
      const found = answer(asked, fake);
      reply(found.status, found.body);
    };
    work().catch(() => response.destroy());
  });
  await once(listener.listen(0, settings.host ?? "127.0.0.1"), "listening");
  const { address, port } = listener.address() as AddressInfo; // It listens on a port.
  fake.origin = `http://${address}:${port}`;
  return fake;
}

async function serveGit(
  request: IncomingMessage,
  response: ServerResponse,
  { server }: FakeApi,
  { token, realm }: HostSettings,
): Promise<void> {
  const asked = readGitRequest(request);
  const isThere = asked && (realm !== "GitLab" || request.url?.includes(".git/"));
  if (asked && isThere && asked.password === token)
    return void (await server.serve(request, response, asked));
  request.resume();
  const headers = { "content-type": "text/plain", "www-authenticate": `Basic realm="${realm}"` };
  response.writeHead(isThere ? 401 : 404, headers).end("Access denied\n");
}

function createFake(listener: Server): FakeApi {
  let server: GitServer | undefined;
  return {
    ...{ origin: "", isAway: false, opened: [] },
    get server() {
      return (server ??= createGitServer());
    },
    async close() {
      await closeServer(listener);
      server?.close();
    },
  };
}
