import { z } from "zod";
import { type ApiPlace, describeFailure, type RepositoryHost } from "./host.ts";

const pull = z.looseObject({ number: z.number(), html_url: z.string() });

const reviews = z.array(
  z.looseObject({ id: z.number(), user: z.looseObject({ login: z.string() }).nullish() }),
);
const remarks = z.array(
  z.looseObject({
    path: z.string().max(4_096),
    position: z.number().nullish(),
    original_position: z.number().nullish(),
    body: z.string(),
    diff_hunk: z.string().optional(),
  }),
);

function describeRemark(remark: z.infer<typeof remarks>[number]): string {
  const { path, position, original_position: original, body, diff_hunk: hunk = "" } = remark;
  const line = position || original;
  return `On ${path}${line ? `:${line}` : ""}:\n${body}\n\n${hunk}`.trimEnd();
}

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
    // What a person may do is told to administrators only; these three to whoever can read: `repoCheckCollaborator`,
    // `orgIsMember` of the same page.
    async mayWrite({ login }, call) {
      if (login.toLowerCase() === owner.toLowerCase()) return true;
      const who = encodeURIComponent(login);
      const asked = [`/repos/${owner}/${name}/collaborators/${who}`, `/orgs/${owner}/members/${who}`];
      const answers = await Promise.all(asked.map((address) => call("GET", address)));
      if (answers.some(({ status }) => status === 204)) return true;
      return answers.every(({ status }) => status === 404) ? false : undefined;
    },
    // An event of a review tells neither its id nor what is on its lines: `repoListPullReviews`, `repoGetPullReviewComments`.
    async readRemarks({ number, login }, call) {
      const listed = await call("GET", `${path}/${number}/reviews?limit=50`);
      const own = (reviews.safeParse(listed.body).data ?? []).filter(({ user }) => user?.login === login);
      const newest = own.toSorted((a, b) => a.id - b.id).at(-1);
      if (!newest) return "";
      const found = await call("GET", `${path}/${number}/reviews/${newest.id}/comments`);
      return (remarks.safeParse(found.body).data ?? []).map(describeRemark).join("\n\n");
    },
  };
}
