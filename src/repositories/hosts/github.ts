import { z } from "zod";
import { type ApiPlace, describeFailure, findMessages, type RepositoryHost } from "./host.ts";

const pull = z.looseObject({ number: z.number(), html_url: z.string() });

/** https://docs.github.com/en/rest/pulls/pulls#create-a-pull-request */
export function createGithub({ api, owner, name }: ApiPlace): RepositoryHost {
  const path = `/repos/${owner}/${name}/pulls`;
  const host = new URL(api).host;
  return {
    request: "pull request",
    async open({ branch, base, title, body, draft }, call) {
      const answer = await call("POST", path, { head: branch, base, title, body, draft });
      const made = pull.safeParse(answer.body);
      if (answer.status === 201 && made.success) {
        return { ok: true, url: made.data.html_url, number: made.data.number, isNew: true };
      }
      const exists =
        answer.status === 422 && findMessages(answer.body).some((text) => /already exists/i.test(text));
      if (!exists) return describeFailure(answer, host);
      const query = new URLSearchParams({ head: `${owner}:${branch}`, base, state: "open" });
      const found = await call("GET", `${path}?${query.toString()}`);
      const [first] = z.array(pull).safeParse(found.body).data ?? [];
      if (!first) return describeFailure(found.status === 200 ? answer : found, host);
      return { ok: true, url: first.html_url, number: first.number, isNew: false };
    },
  };
}
