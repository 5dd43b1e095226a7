import { createPrivateKey, randomBytes } from "node:crypto";
import { z } from "zod";
import { type ApiHeaders, createApi, describeTrouble, findMessages } from "./hosts/host.ts";

/**
 * A GitHub App that is registered by one click: the browser brings a manifest to GitHub, GitHub sends it back with a code,
 * and for the code, once and within an hour, it gives what the App signs in with.
 * https://docs.github.com/en/apps/sharing-github-apps/registering-a-github-app-from-a-manifest
 */

/** GitHub and what is reached of it, without a slash at the end. */
export interface GithubPlace {
  /** E.g. `https://github.com`. */
  url: string;
  /** E.g. `https://api.github.com`. */
  api: string;
}

/** All three steps have to be done within this time. */
export const registrationSeconds = 3_600;

export interface ManifestOptions {
  /** Where the browser is sent with the code, and after an installation. */
  returnTo: string;
  /** Where GitHub can reach Heddle's webhooks; without it the App has none. */
  hook?: string;
}

/** What Heddle does, and nothing more: without `workflows` GitHub refuses changes of what its Actions run. */
export const appPermissions = { contents: "write", pull_requests: "write", metadata: "read" } as const;

/** Each event wants the permission to read what it tells of. */
const feedbackPermissions = { checks: "read", issues: "read" } as const;
const feedbackEvents = ["check_suite", "pull_request_review", "pull_request_review_comment", "issue_comment"];

/** Names of Apps are unique in all of GitHub; whoever registers it can still change it there. */
export function makeManifest({ returnTo, hook }: ManifestOptions): Record<string, unknown> {
  return {
    name: `heddle-${randomBytes(4).toString("hex")}`,
    url: new URL(returnTo).origin,
    description: "Works on repositories for the people of a chat, and opens pull requests.",
    redirect_url: returnTo,
    setup_url: returnTo,
    setup_on_update: true,
    public: false,
    default_permissions: { ...appPermissions, ...(hook !== undefined && feedbackPermissions) },
    ...(hook !== undefined && {
      hook_attributes: { url: hook, active: true },
      default_events: feedbackEvents,
    }),
  };
}

/** Where the form with the manifest goes. */
export function registrationAddress(
  { url }: GithubPlace,
  { organization, state }: { organization?: string; state: string },
): string {
  const owner = organization === undefined ? "" : `/organizations/${encodeURIComponent(organization)}`;
  return `${url}${owner}/settings/apps/new?state=${encodeURIComponent(state)}`;
}

/** What GitHub tells of a new App. */
export interface RegisteredApp {
  slug: string;
  name: string;
  owner: { login: string; isOrganization: boolean };
  /** The App's own page. */
  page: string;
  clientId: string;
  /** PEM. */
  privateKey: string;
  webhookSecret?: string;
}

export type Conversion =
  | { ok: true; app: RegisteredApp }
  /** `outage`: the code is still good, as far as one knows. */
  | { ok: false; message: string; outage?: true };

/** https://docs.github.com/en/rest/apps/apps#create-a-github-app-from-a-manifest */
const converted = z.looseObject({
  slug: z.string().regex(/^[\w-]{1,100}$/),
  name: z.string().min(1).max(200),
  owner: z.looseObject({ login: z.string().regex(/^[\w-]{1,100}$/), type: z.string().optional() }),
  html_url: z.url(),
  client_id: z.string().regex(/^[\w.-]{1,100}$/),
  pem: z.string().max(20_000),
  webhook_secret: z.string().max(1_000).nullish(),
});

/** Trades the code that GitHub has sent the browser back with. It is good for one time. */
export async function convertCode(
  place: GithubPlace,
  code: string,
  signal: AbortSignal,
): Promise<Conversion> {
  const host = new URL(place.url).host;
  const headersFor = async (): Promise<ApiHeaders> => ({
    ok: true,
    headers: { accept: "application/vnd.github+json" },
  });
  const path = `/app-manifests/${encodeURIComponent(code)}/conversions`;
  const answer = await createApi(place.api, headersFor, signal)("POST", path);
  const failed = answer.status >= 500 ? `${host} failed (${answer.status})` : undefined;
  const trouble = describeTrouble(answer, host) ?? failed;
  if (trouble !== undefined) {
    return { ok: false, outage: true, message: `${trouble}. Try again; the code is good for an hour.` };
  }
  if (answer.status === 404) {
    const message = `${host} does not know this code: it is good for one time and for an hour. Begin again.`;
    return { ok: false, message };
  }
  const parsed = converted.safeParse(answer.body);
  if (answer.status !== 201 || !parsed.success) {
    const said = findMessages(answer.body).join("; ").slice(0, 300);
    const words = said === "" ? "" : ` It says: ${said}`;
    return { ok: false, message: `${host} gave no App for this code (${answer.status}).${words}` };
  }
  const { data } = parsed;
  if (!isRsaKey(data.pem) || new URL(data.html_url).origin !== new URL(place.url).origin)
    return { ok: false, message: `${host} gave an App of another form than Heddle knows.` };
  return {
    ok: true,
    app: {
      ...{ slug: data.slug, name: data.name, page: data.html_url, clientId: data.client_id },
      owner: { login: data.owner.login, isOrganization: data.owner.type === "Organization" },
      privateKey: data.pem,
      ...(data.webhook_secret && { webhookSecret: data.webhook_secret }),
    },
  };
}

function isRsaKey(pem: string): boolean {
  try {
    return createPrivateKey(pem).asymmetricKeyType === "rsa";
  } catch {
    return false;
  }
}
