import { z } from "zod";
import { type ApiPlace, describeFailure, type RepositoryHost } from "./host.ts";

const pull = z.looseObject({ number: z.number(), html_url: z.string() });

/** Gitea and Forgejo: `repoCreatePullRequest`, `repoGetPullRequestByBaseHead` of https://docs.gitea.com/api/ */
export function createGitea({ api, owner, name }: ApiPlace): RepositoryHost {
  const path = `/repos/${owner}/${name}/pulls`;
  const host = new URL(api).host;
  return {
    request: "pull request",
    async open({ branch, base, title, body, draft }, call) {
      // A title that begins so makes a draft.
      const shown = draft ? `WIP: ${title}` : title;
      const answer = await call("POST", path, { head: branch, base, title: shown, body });
      const made = pull.safeParse(answer.body);
      if (answer.status === 201 && made.success) {
        return { ok: true, url: made.data.html_url, number: made.data.number, isNew: true };
      }
      if (answer.status !== 409) return describeFailure(answer, host);
      const found = await call("GET", `${path}/${encodeURIComponent(base)}/${encodeURIComponent(branch)}`);
      const there = pull.safeParse(found.body);
      if (found.status !== 200 || !there.success) return describeFailure(answer, host);
      return { ok: true, url: there.data.html_url, number: there.data.number, isNew: false };
    },
  };
}
