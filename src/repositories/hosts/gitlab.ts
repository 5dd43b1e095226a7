import { z } from "zod";
import { type ApiPlace, describeFailure, type RepositoryHost } from "./host.ts";

const mergeRequest = z.looseObject({ iid: z.number(), web_url: z.string() });

const member = z.looseObject({ access_level: z.number(), state: z.string().default("active") });
/** Whoever has less cannot push: https://docs.gitlab.com/api/access_requests/#valid-access-levels */
const developer = 30;

/** https://docs.gitlab.com/api/merge_requests/#create-mr */
export function createGitlab({ api, owner, name }: ApiPlace): RepositoryHost {
  const path = `/projects/${encodeURIComponent(`${owner}/${name}`)}/merge_requests`;
  const host = new URL(api).host;
  return {
    request: "merge request",
    async open({ branch, base, title, body, draft }, call) {
      const answer = await call("POST", path, {
        source_branch: branch,
        target_branch: base,
        // https://docs.gitlab.com/user/project/merge_requests/drafts/
        title: draft ? `Draft: ${title}` : title,
        description: body,
      });
      const made = mergeRequest.safeParse(answer.body);
      if (answer.status === 201 && made.success) {
        return { ok: true, url: made.data.web_url, number: made.data.iid, isNew: true };
      }
      if (answer.status !== 409) return describeFailure(answer, host);
      const query = new URLSearchParams({ source_branch: branch, target_branch: base, state: "opened" });
      const found = await call("GET", `${path}?${query.toString()}`);
      const [first] = z.array(mergeRequest).safeParse(found.body).data ?? [];
      if (!first) return describeFailure(found.status === 200 ? answer : found, host);
      return { ok: true, url: first.web_url, number: first.iid, isNew: false };
    },
    // https://docs.gitlab.com/api/project_members/: a member, inherited and invited ones included
    async mayWrite({ id }, call) {
      if (id === undefined) return false;
      const project = encodeURIComponent(`${owner}/${name}`);
      const { status, body } = await call("GET", `/projects/${project}/members/all/${id}`);
      if (status === 404) return false;
      const found = member.safeParse(body);
      if (status !== 200 || !found.success) return undefined;
      return found.data.access_level >= developer && found.data.state === "active";
    },
  };
}
