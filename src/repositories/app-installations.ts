import { z } from "zod";
import { createAppApi, type GithubApp } from "./github-app.ts";
import { type ApiAnswer, createApi, describeTrouble } from "./hosts/host.ts";

/** Where an App is installed, and what it may work on there. */
export interface AppInstallation {
  /** The person or organization. */
  account: string;
  /** Whether its owner has stopped it for a while. */
  isSuspended: boolean;
  /** Owner and name; the first hundred. */
  repositories: string[];
  /** How many there are. */
  total: number;
}

export type InstallationList =
  | { ok: true; installations: AppInstallation[] }
  | { ok: false; message: string };

/** An App that one installation has for itself has few. */
const mostInstallations = 10;
const answerWithinMs = 20_000;

const installations = z.array(
  z.looseObject({
    id: z.number(),
    account: z.looseObject({ login: z.string().max(200) }).nullish(),
    suspended_at: z.string().nullish(),
  }),
);
const issued = z.looseObject({ token: z.string().min(1) });
const granted = z.looseObject({
  total_count: z.number(),
  repositories: z.array(z.looseObject({ full_name: z.string().max(300) })),
});

/**
 * Asks GitHub where the App is installed. The token that each list needs may only read metadata, and is ended at once.
 * https://docs.github.com/en/rest/apps/apps#list-installations-for-the-authenticated-app
 * https://docs.github.com/en/rest/apps/installations
 */
export async function listInstallations(
  api: string,
  app: GithubApp,
  options: { now(): number; signal: AbortSignal; onToken(token: string): void },
): Promise<InstallationList> {
  const host = new URL(api).host;
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(answerWithinMs)]);
  const call = createAppApi(api, app, { now: options.now, signal });
  const found = await call("GET", `/app/installations?per_page=${mostInstallations}`);
  const known = installations.safeParse(found.body);
  if (found.status !== 200 || !known.success) return { ok: false, message: describe(found, host) };
  const all: AppInstallation[] = [];
  for (const { id, account, suspended_at: suspended } of known.data) {
    const name = account?.login ?? `installation ${id}`;
    const isSuspended = Boolean(suspended);
    const repositories = isSuspended ? noRepositories : await listRepositories(id);
    all.push({ account: name, isSuspended, ...repositories });
  }
  return { ok: true, installations: all };

  async function listRepositories(id: number): Promise<Pick<AppInstallation, "repositories" | "total">> {
    const body = { permissions: { metadata: "read" } };
    const made = issued.safeParse((await call("POST", `/app/installations/${id}/access_tokens`, body)).body);
    if (!made.success) return noRepositories;
    const { token } = made.data;
    options.onToken(token);
    const headers = { authorization: `Bearer ${token}`, accept: "application/vnd.github+json" };
    const callAsInstallation = createApi(api, async () => ({ ok: true, headers }), signal);
    const list = granted.safeParse(
      (await callAsInstallation("GET", "/installation/repositories?per_page=100")).body,
    );
    await callAsInstallation("DELETE", "/installation/token");
    if (!list.success) return noRepositories;
    const { total_count: total, repositories } = list.data;
    return { total, repositories: repositories.map(({ full_name: title }) => title).toSorted() };
  }
}

const noRepositories = { repositories: [], total: 0 };

function describe(answer: ApiAnswer, host: string): string {
  const { status } = answer;
  const trouble = describeTrouble(answer, host);
  if (trouble !== undefined) return `${trouble}.`;
  if (status === 401 || status === 404)
    return `${host} does not know the App, or not its key any more: it was deleted there. Have it forgotten here, and register another.`;
  return `${host} did not say where the App is installed (${status}).`;
}
