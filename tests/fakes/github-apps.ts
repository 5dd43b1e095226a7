import { createPublicKey, generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto";
import { z } from "zod";

/**
 * GitHub's pages that register and install an App, and the trade of the code that comes of it. It refuses what GitHub
 * refuses:
 *
 * - manifests without `url`, with webhooks that no public network reaches, or with events that the permissions do not cover
 *   (https://docs.github.com/en/apps/sharing-github-apps/registering-a-github-app-from-a-manifest#github-app-manifest-parameters)
 * - names that another App has, or of more than 34 characters
 *   (https://docs.github.com/en/apps/creating-github-apps/registering-a-github-app/registering-a-github-app)
 * - codes that are unknown, were traded already, or are older than an hour: 404
 *   (https://docs.github.com/en/rest/apps/apps#create-a-github-app-from-a-manifest)
 */
export interface FakeApp {
  clientId: string;
  slug: string;
  key: KeyObject;
  id: number;
  owner: { login: string; type: "User" | "Organization" };
  repositories: string[];
  isSuspended?: boolean;
  permissions?: Record<string, string>;
  setupUrl?: string;
}

/** What is given for a code, once. */
interface Pending {
  body: Record<string, unknown>;
  until: number;
}

export interface AppPages {
  apps: Map<string, FakeApp>;
  pending: Map<string, Pending>;
  /** What it has told nobody but who traded the code. */
  secrets: string[];
  /** Every manifest that came. */
  manifests: unknown[];
  titles(): string[];
  now(): number;
}

export interface PageAnswer {
  status: number;
  html?: string;
  location?: string;
  body?: object;
}

const manifestSchema = z.object({
  name: z.string().optional(),
  url: z.url({ error: '"url" wasn\'t supplied' }),
  redirect_url: z.url(),
  setup_url: z.url().optional(),
  hook_attributes: z.object({ url: z.url(), active: z.boolean().default(true) }).optional(),
  public: z.boolean().default(false),
  default_permissions: z.record(z.string(), z.enum(["read", "write"])).default({}),
  default_events: z.array(z.string()).default([]),
});

const needs: Record<string, string> = {
  check_suite: "checks",
  pull_request_review: "pull_requests",
  pull_request_review_comment: "pull_requests",
  issue_comment: "issues",
};

/** Undefined for what is none of these pages. */
export function answerAppPages(
  method: string,
  url: URL,
  text: string,
  pages: AppPages,
): PageAnswer | undefined {
  const fields = new URLSearchParams(text);
  const [, organization, last] =
    /^(?:\/organizations\/([^/]+))?\/settings\/apps(\/new)?$/.exec(url.pathname) ?? [];
  if (method === "POST" && url.pathname.endsWith("/settings/apps/new") && last) {
    return showForm(fields, { state: url.searchParams.get("state") ?? "", organization }, pages);
  }
  if (method === "POST" && url.pathname.endsWith("/settings/apps")) {
    return create(fields, { url, organization }, pages);
  }
  const [, code] = /^\/app-manifests\/([^/]+)\/conversions$/.exec(url.pathname) ?? [];
  if (method === "POST" && code !== undefined) return convert(code, pages);
  const [, slug, action] = /^\/apps\/([\w-]+)\/installations(\/new)?$/.exec(url.pathname) ?? [];
  const app = [...pages.apps.values()].find((one) => one.slug === slug);
  if (!app) return undefined;
  if (method === "GET" && action) return { status: 200, html: installForm(app, pages) };
  if (method !== "POST") return undefined;
  app.repositories = fields.getAll("repository");
  const location = new URL(app.setupUrl ?? "http://github.example/");
  location.searchParams.set("installation_id", String(app.id));
  location.searchParams.set("setup_action", "install");
  return { status: 302, location: location.href };
}

function showForm(
  fields: URLSearchParams,
  { state, organization }: { state: string; organization: string | undefined },
  pages: AppPages,
  said = "",
): PageAnswer {
  const text = fields.get("manifest") ?? "";
  const faults = findFaults(text);
  const page = (body: string) => `<!doctype html><title>GitHub</title><h1>Create GitHub App</h1>${body}`;
  if (faults !== "") {
    const words = `The configuration does not appear to be a valid GitHub App manifest. ${faults}`;
    return { status: 422, html: page(`<p id="error">${escape(words)}</p>`) };
  }
  if (said === "") pages.manifests.push(JSON.parse(text));
  const of = organization === undefined ? "" : `/organizations/${organization}`;
  const name = fields.get("name") ?? manifestSchema.parse(JSON.parse(text)).name ?? "";
  return {
    status: 200,
    html: page(
      `<p id="error">${escape(said)}</p><form method="post" action="${of}/settings/apps">` +
        `<label>GitHub App name <input name="name" value="${escape(name)}"></label>` +
        `<input type="hidden" name="manifest" value="${escape(text)}"><input type="hidden" name="state" value="${escape(state)}">` +
        `<button>Create GitHub App for ${organization ?? "ada"}</button></form>`,
    ),
  };
}

function findFaults(text: string): string {
  const parsed = manifestSchema.safeParse(JSON.parse(text || "{}"));
  if (!parsed.success) return parsed.error.issues.map((issue) => `Error ${issue.message}`).join(" ");
  const { hook_attributes: hook, default_events: events, default_permissions: may } = parsed.data;
  if (hook && /^(localhost|127\.|10\.|192\.168\.)/.test(new URL(hook.url).hostname)) {
    return "Error Hook url is not supported because it isn't reachable over the public Internet";
  }
  const uncovered = events.filter((event) => !may[needs[event] ?? ""]);
  return uncovered.length > 0
    ? `Error Default events are not supported by permissions: ${uncovered.join(", ")}`
    : "";
}

function create(
  fields: URLSearchParams,
  { url, organization }: { url: URL; organization: string | undefined },
  pages: AppPages,
): PageAnswer {
  const { apps, pending, secrets, now } = pages;
  const name = fields.get("name") ?? "";
  const slug = name.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
  const state = fields.get("state") ?? "";
  const refuse = (said: string) => showForm(fields, { state, organization }, pages, said);
  if (name.length > 34) return refuse("Name is too long (maximum is 34 characters)");
  if ([...apps.values()].some((app) => app.slug === slug)) return refuse("Name has already been taken");
  const manifest = manifestSchema.parse(JSON.parse(fields.get("manifest") ?? ""));
  const keys = generateKeyPairSync("rsa", {
    modulusLength: 2048,
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs1", format: "pem" },
  });
  const clientId = `Iv23li${randomBytes(7).toString("hex")}`;
  const owner =
    organization === undefined
      ? ({ login: "ada", type: "User" } as const)
      : ({ login: organization, type: "Organization" } as const);
  apps.set(clientId, {
    ...{ clientId, slug, owner, id: 1000 + apps.size, repositories: [] },
    key: createPublicKey(keys.publicKey),
    permissions: manifest.default_permissions,
    ...(manifest.setup_url !== undefined && { setupUrl: manifest.setup_url }),
  });
  const code = randomBytes(20).toString("hex");
  const webhookSecret = manifest.hook_attributes ? randomBytes(20).toString("hex") : null;
  const clientSecret = randomBytes(20).toString("hex");
  secrets.push(keys.privateKey, clientSecret, ...(webhookSecret === null ? [] : [webhookSecret]));
  pending.set(code, {
    until: now() + 3_600_000,
    body: {
      ...{ id: apps.size, slug, name, owner, client_id: clientId, html_url: `${url.origin}/apps/${slug}` },
      ...{ client_secret: clientSecret, webhook_secret: webhookSecret, pem: keys.privateKey },
      permissions: manifest.default_permissions,
      events: manifest.default_events,
    },
  });
  const location = new URL(manifest.redirect_url);
  location.searchParams.set("code", code);
  if (state !== "") location.searchParams.set("state", state);
  return { status: 302, location: location.href };
}

function convert(code: string, { pending, now }: AppPages): PageAnswer {
  const found = pending.get(code);
  pending.delete(code);
  if (!found || found.until <= now()) return { status: 404, body: { message: "Not Found" } };
  return { status: 201, body: found.body };
}

function installForm({ slug }: FakeApp, { titles }: AppPages): string {
  const boxes = titles().map(
    (title) => `<label><input type="checkbox" name="repository" value="${title}"> ${title}</label>`,
  );
  return `<!doctype html><title>GitHub</title><form method="post" action="/apps/${slug}/installations">${boxes.join("")}<button>Install</button></form>`;
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");
}
