import { z } from "zod";
import { registriesSchema } from "./registries.ts";
import { count, url, variableName } from "./values.ts";

/** The repositories that agents work on, in `heddle.yaml`. docs/repositories.md explains them. */

export const repositoryName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,39}$/, "expected a short name in small letters, e.g. shop");

const repositorySchema = z.strictObject({
  url: url
    .refine(
      (text) => /^\/[^/?#]+\/[^?#]*[^/?#]$/.test(URL.parse(text)?.pathname ?? "") && !/[?#@]/.test(text),
      "expected the address of a repository, e.g. https://github.com/acme/shop",
    )
    .describe("its address, e.g. https://github.com/acme/shop; it may be private and have a port"),
  kind: z
    .enum(["github", "gitlab", "gitea", "git"])
    .exactOptional()
    .describe(
      "what its host speaks, Forgejo being gitea; without it known for github.com, gitlab.com and codeberg.org, and git elsewhere: clones and pushes, no pull requests",
    ),
  apiUrl: url
    .exactOptional()
    .describe("the base of the host's API, if not its usual one, e.g. https://github.example.com/api/v3"),
  tokenVariable: z
    .string()
    .min(1)
    .exactOptional()
    .describe(
      "the environment variable with the token that signs in; without it the GitHub App where there is one, else nobody signs in",
    ),
  user: z
    .string()
    .regex(/^[^:\s]+$/, "expected a name without a colon")
    .exactOptional()
    .describe("the name that git signs in with beside the token, if not the host's usual one"),
  branch: z
    .string()
    .regex(/^(?!-)[\w./-]+$/, "expected the name of a branch, e.g. main")
    .exactOptional()
    .describe(
      "the branch that work starts from and pull requests go to; without it the host's default branch",
    ),
  push: z
    .enum(["ask", "allow", "deny"])
    .default("ask")
    .describe(
      "whether open_pull_request needs an approval; a rule of tools.rules can only be stricter. Only branches heddle/… are ever pushed",
    ),
  setup: z
    .string()
    .min(1)
    .max(4_000)
    .exactOptional()
    .describe(
      "run after cloning, e.g. npm ci, once for each commit and machine in a sandbox that reaches the registries alone; its failure is told and nothing more",
    ),
  setupFiles: z
    .array(
      z.string().regex(/^(?!.*\.\.)\w[\w./-]*$/, "expected a file of the repository, e.g. package-lock.json"),
    )
    .min(1)
    .max(20)
    .exactOptional()
    .describe(
      "files whose content decides whether the set-up must be run again, e.g. package-lock.json; needs branch. Without it every commit does",
    ),
  coAuthors: z
    .record(
      z.string().min(1).max(100),
      z
        .string()
        .regex(
          /^[^<>\p{Cc}]{1,80} <[^<>\s@]+@[^<>\s@]+>$/u,
          "expected a name and an address, e.g. Ada <1234+ada@users.noreply.github.com>",
        ),
    )
    .default({})
    .describe(
      "who is named as co-author of the commits that they ask for: name and mail address, as the host knows them, by the person's id on their platform, e.g. U012345",
    ),
  feedback: z
    .strictObject({
      secretVariable: variableName
        .exactOptional()
        .describe(
          "the environment variable with the secret of the repository's webhook, which its host sends to /hooks/repository/<name>; without it the webhook of the GitHub App that the console has registered, at /hooks/app/github. Of GitLab a secret that begins with whsec_ is a signing token, any other a secret token",
        ),
      perHour: count(1, 100).default(6).describe("turns that one pull request may start in an hour"),
    })
    .exactOptional()
    .describe(
      "brings failed checks and reviews of pull requests back into the thread that has opened them; github, gitlab and gitea",
    ),
  registries: registriesSchema
    .default([])
    .describe("package registries that the commands of its channels may reach"),
});

export const githubAppSchema = z
  .strictObject({
    url: url
      .refine((text) => /^https?:\/\/[^/?#@]+\/?$/.test(text), "expected a host, e.g. https://github.com")
      .default("https://github.com")
      .describe("where the console registers a GitHub App: GitHub, or an Enterprise Server of your own"),
    apiUrl: url
      .exactOptional()
      .describe("the base of its API, if not its usual one, e.g. https://github.example.com/api/v3"),
  })
  .prefault({});

const knownHosts: Record<string, string> = {
  "github.com": "github",
  "gitlab.com": "gitlab",
  "codeberg.org": "gitea",
};

function guessKind(kind: string | undefined, address: string): string {
  return kind ?? knownHosts[URL.parse(address)?.host ?? ""] ?? "git";
}

export const repositoriesSchema = z
  .record(
    repositoryName,
    repositorySchema
      .refine(({ setupFiles, branch }) => !setupFiles || branch !== undefined, {
        path: ["setupFiles"],
        error: "expected beside branch, whose commits alone are set up for others",
      })
      .refine(({ feedback, kind, url: address }) => !feedback || guessKind(kind, address) !== "git", {
        path: ["feedback"],
        error: "expected with github, gitlab or gitea",
      })
      .refine(
        ({ feedback, kind, url: address }) =>
          !feedback || feedback.secretVariable !== undefined || guessKind(kind, address) === "github",
        { path: ["feedback", "secretVariable"], error: "expected a variable; only a GitHub App has its own" },
      ),
  )
  .default({})
  .describe("the repositories that channels can be given, by a name of your own");
