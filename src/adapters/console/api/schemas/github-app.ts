import { z } from "zod";
import type { GithubAppForm, GithubAppReach, GithubAppState } from "../../github-app.ts";

/** What is sent and answered about the GitHub App. */

export const githubAppState: z.ZodType<GithubAppState> = z
  .strictObject({
    host: z.string().describe("where one is registered"),
    problem: z.string().exactOptional().describe("why none can be registered here"),
    app: z
      .strictObject({
        ...{ name: z.string(), owner: z.string(), page: z.string() },
        ...{ installAt: z.string(), deleteAt: z.string(), at: z.number() },
      })
      .exactOptional(),
  })
  .meta({ id: "GithubApp", description: "the GitHub App, without anything secret" });

export const githubAppReach: z.ZodType<GithubAppReach> = z.strictObject({
  installations: z.array(
    z.strictObject({
      ...{ account: z.string(), isSuspended: z.boolean(), repositories: z.array(z.string()) },
      total: z.number().describe("how many repositories there are; the first hundred are named"),
    }),
  ),
  missing: z.array(z.string()).describe("repositories of the settings that the App does not reach"),
});

export const githubAppForm: z.ZodType<GithubAppForm> = z.strictObject({
  action: z.string().describe("where the browser posts it"),
  manifest: z.string().describe("the field of that name"),
});

export const githubAppBegin = {
  schema: z.strictObject({
    organization: z
      .string()
      .regex(/^[a-z\d][a-z\d-]{0,38}$/i, "expected the name of an organization, as in its address")
      .exactOptional()
      .describe("whose it shall be; without it the person's own"),
  }),
  maxBytes: 1_000,
  otherwise: "Nothing was begun",
};

const given = z.string().regex(/^[\w-]{1,200}$/);

export const githubAppFinish = {
  schema: z.strictObject({ code: given, state: given }),
  maxBytes: 1_000,
  otherwise: "GitHub sent the browser back with something else than a code",
};
