import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { z } from "zod";

/** What a request to a host's API was, and the answer. */
type Answer = (request: { method: string; path: string; query: URLSearchParams; body: unknown }) => {
  status: number;
  body: object;
};

export interface FakeApi {
  origin: string;
  /** Whether it answers; otherwise every request is cut off. */
  isAway: boolean;
  close(): Promise<void>;
}

/**
 * The merge requests of a GitLab: 201 with `iid`, 409 for a second one of a branch, 404 for whoever may not see the project
 * (https://docs.gitlab.com/api/merge_requests/#create-mr; 409 in lib/api/merge_requests.rb and app/services/merge_requests).
 * And its members: 404 for whoever is none (https://docs.gitlab.com/api/project_members/).
 *
 * @param members access levels by the person's id
 */
export function startGitlab(token: string, members: Readonly<Record<number, number>> = {}): Promise<FakeApi> {
  const requests: { iid: number; source_branch: string; web_url: string }[] = [];
  const wanted = z.object({
    source_branch: z.string(),
    target_branch: z.string(),
    title: z.string(),
    description: z.string().max(1_048_576),
  });
  return start("private-token", token, ({ method, path, query, body }) => {
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
      const found = requests.filter((each) => each.source_branch === query.get("source_branch"));
      return { status: 200, body: query.get("state") === "opened" ? found : [] };
    }
    const { source_branch } = wanted.parse(body);
    const there = requests.find((each) => each.source_branch === source_branch);
    if (there) {
      const message = [`Another open merge request already exists for this source branch: !${there.iid}`];
      return { status: 409, body: { message } };
    }
    const iid = requests.length + 1;
    const made = {
      iid,
      source_branch,
      web_url: `https://gitlab.example/acme/tools/shop/-/merge_requests/${iid}`,
    };
    requests.push(made);
    return { status: 201, body: made };
  });
}

/**
 * The pull requests of a Gitea or Forgejo: 201, 409 for a second one, which is found by base and head (`repoCreatePullRequest`
 * and `repoGetPullRequestByBaseHead` in https://docs.gitea.com/api/ and routers/api/v1/repo/pull.go). Collaborators and members
 * of organizations are 204, everybody else 404 (`repoCheckCollaborator`, `orgIsMember`); what a person may do is told to
 * administrators alone (`repoGetRepoPermissions`: 403).
 */
export function startGitea(
  token: string,
  { collaborators = [], members = [], remarks = [] }: GiteaPeople = {},
): Promise<FakeApi> {
  const pulls: { number: number; html_url: string; base: string; head: string }[] = [];
  const wanted = z.object({ head: z.string(), base: z.string(), title: z.string(), body: z.string() });
  return start("authorization", `token ${token}`, ({ method, path, body }) => {
    const [, group = "", login = ""] =
      /^\/api\/v1\/(repos\/acme\/shop\/collaborators|orgs\/acme\/members)\/([^/]+)$/.exec(path) ?? [];
    if (method === "GET" && login !== "") {
      const list = group.startsWith("orgs") ? members : collaborators;
      return list.includes(login) ? { status: 204, body: {} } : { status: 404, body: {} };
    }
    if (/\/collaborators\/[^/]+\/permission$/.test(path)) return { status: 403, body: {} };
    if (method === "GET" && path === "/api/v1/repos/acme/shop/pulls/17/reviews") {
      return {
        status: 200,
        body: [
          { id: 3, user: { login: "ben" } },
          { id: 4, user: { login: "eve" } },
        ],
      };
    }
    if (method === "GET" && path === "/api/v1/repos/acme/shop/pulls/17/reviews/3/comments") {
      return { status: 200, body: remarks };
    }
    const [, base, head] = /^\/api\/v1\/repos\/acme\/shop\/pulls\/([^/]+)\/([^/]+)$/.exec(path) ?? [];
    if (method === "GET" && base && head) {
      const found = pulls.find((each) => each.base === base && each.head === decodeURIComponent(head));
      return found ? { status: 200, body: found } : { status: 404, body: { message: "not found" } };
    }
    if (method !== "POST" || path !== "/api/v1/repos/acme/shop/pulls") return { status: 404, body: {} };
    const asked = wanted.parse(body);
    if (pulls.some((each) => each.head === asked.head && each.base === asked.base)) {
      const message = `pull request already exists for these targets [id: 1, issue_id: 1, head_repo_id: 1, base_repo_id: 1, head_branch: ${asked.head}, base_branch: ${asked.base}]`;
      return { status: 409, body: { message } };
    }
    const number = pulls.length + 1;
    const made = { number, html_url: `https://gitea.example/acme/shop/pulls/${number}`, ...asked };
    pulls.push(made);
    return { status: 201, body: made };
  });
}

interface GiteaPeople {
  collaborators?: readonly string[];
  members?: readonly string[];
  /** On lines, of the review of pull request 17 by ben. */
  remarks?: readonly object[];
}

async function start(header: string, value: string, answer: Answer): Promise<FakeApi> {
  const server = createServer();
  const fake = createFake(server);
  server.on("request", (request, response) => {
    const url = new URL(request.url ?? "", "http://host");
    const reply = (status: number, body: object) =>
      void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    const work = async () => {
      if (fake.isAway) return void response.destroy();
      if (request.headers[header] !== value) return reply(401, { message: "401 Unauthorized" });
      const body = request.method === "POST" ? await json(request) : undefined;
      const found = answer({
        method: request.method ?? "",
        path: url.pathname,
        query: url.searchParams,
        body,
      });
      reply(found.status, found.body);
    };
    work().catch(() => response.destroy());
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo; // It listens on a port.
  fake.origin = `http://127.0.0.1:${port}`;
  return fake;
}

function createFake(server: Server): FakeApi {
  return {
    origin: "",
    isAway: false,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
