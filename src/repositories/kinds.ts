import { type ApiPlace, type RepositoryHost } from "./hosts/host.ts";
import { createGitea } from "./hosts/gitea.ts";
import { createGithub } from "./hosts/github.ts";
import { createGitlab } from "./hosts/gitlab.ts";

export type RepositoryKind = "github" | "gitlab" | "gitea" | "git";

/** What is particular about a kind of host. */
export interface KindOfHost {
  /** The name that git signs in with beside a token. */
  user: string;
  /** The base of the API. */
  apiOf(url: URL): string;
  /** What signs in at the API. */
  header(token: string): Record<string, string>;
  /** Absent where there are no pull requests. */
  open?(place: ApiPlace): RepositoryHost;
}

export const kinds: Record<RepositoryKind, KindOfHost> = {
  github: {
    user: "x-access-token",
    // https://docs.github.com/en/enterprise-server@latest/rest/enterprise-admin#endpoint-urls
    apiOf: (url) => (url.host === "github.com" ? "https://api.github.com" : `${url.origin}/api/v3`),
    header: (token) => ({
      authorization: `Bearer ${token}`,
      accept: "application/vnd.github+json",
      "x-github-api-version": "2022-11-28",
    }),
    open: createGithub,
  },
  gitlab: {
    // https://docs.gitlab.com/topics/git/clone/#clone-using-a-token
    user: "oauth2",
    apiOf: (url) => `${url.origin}/api/v4`,
    header: (token) => ({ "private-token": token }),
    open: createGitlab,
  },
  gitea: {
    user: "oauth2",
    apiOf: (url) => `${url.origin}/api/v1`,
    header: (token) => ({ authorization: `token ${token}` }),
    open: createGitea,
  },
  git: { user: "git", apiOf: (url) => url.origin, header: () => ({}) },
};

const known: Record<string, RepositoryKind> = {
  "github.com": "github",
  "gitlab.com": "gitlab",
  "codeberg.org": "gitea",
};

export function kindOf(url: URL): RepositoryKind {
  return known[url.host] ?? "git";
}
