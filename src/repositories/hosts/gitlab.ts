import { z } from "zod";
import { type ApiPlace, describeFailure, type RepositoryHost } from "./host.ts";

const mergeRequest = z.looseObject({ iid: z.number(), web_url: z.string() });

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
      const query = new URLSearchParams({ source_branch: branch, state: "opened" });
      const found = await call("GET", `${path}?${query.toString()}`);
      const [first] = z.array(mergeRequest).safeParse(found.body).data ?? [];
      if (!first) return describeFailure(found.status === 200 ? answer : found, host);
      return { ok: true, url: first.web_url, number: first.iid, isNew: false };
    },
  };
}
