import { createPrivateKey, randomBytes } from "node:crypto";
import type { Redis } from "ioredis";
import {
  githubAppPage,
  type GithubAppRefusal,
  type GithubAppSetup,
  type GithubAppState,
} from "../../adapters/console/github-app.ts";
import type { GrowingMasker } from "../../agent/secrets/mask-secrets.ts";
import type { Config } from "../../config/load.ts";
import { type GithubAppStore, type StoredGithubApp, UnreadableApp } from "../../queue/stores/github-app.ts";
import { listInstallations } from "../../repositories/app-installations.ts";
import {
  convertCode,
  type GithubPlace,
  makeManifest,
  registrationAddress,
  registrationSeconds,
} from "../../repositories/app-manifest.ts";
import { kinds } from "../../repositories/kinds.ts";
import type { SetupAuditEvent } from "../../telemetry/audit/fact.ts";
import { listAppRepositories, openGithubAppStore } from "../repositories/own-github-app.ts";

type AppConfig = Pick<Config, "environment" | "settings" | "dataDir">;

export interface GithubAppOptions {
  config: AppConfig;
  redis: Redis;
  masker: Pick<GrowingMasker, "add">;
  audit(event: SetupAuditEvent): void;
  now(): number;
  /** Ends what is asked of GitHub. */
  signal: AbortSignal;
}

/** Where Apps are registered, as the settings say. */
function githubPlace({ settings }: Pick<Config, "settings">): GithubPlace {
  const url = new URL(settings.githubApp.url);
  const api = settings.githubApp.apiUrl ?? kinds.github.apiOf(url);
  return { url: url.origin, api: api.replace(/\/$/, "") };
}

const unsafeHost =
  "The console knows neither its own address nor whether it is reached over HTTPS: open it in a browser.";

/** The GitHub App as the console registers, shows and forgets it. */
export function openGithubAppSetup(options: GithubAppOptions): GithubAppSetup {
  const { config, redis, masker, audit, now, signal } = options;
  const store = openGithubAppStore(config, redis);
  const place = githubPlace(config);
  const problem =
    config.environment.GITHUB_APP_CLIENT_ID === undefined
      ? undefined
      : "GITHUB_APP_CLIENT_ID in the environment names a GitHub App already, which counts. Remove it to register one here.";

  async function describe(): Promise<GithubAppState> {
    const base = { host: place.url, ...(problem !== undefined && { problem }) };
    try {
      const app = await store.read();
      return { ...base, ...(app && { app: describeApp(app) }) };
    } catch (error) {
      if (!(error instanceof UnreadableApp)) throw error;
      return { ...base, problem: error.message };
    }
  }

  return {
    host: place.url,
    current: describe,
    async begin({ organization, origin }, by) {
      const state = await describe();
      if (state.problem !== undefined) return { ok: false, message: state.problem };
      if (state.app) return { ok: false, message: alreadyThere(state.app.name) };
      if (!/^https?:$/.test(URL.parse(origin)?.protocol ?? "")) return { ok: false, message: unsafeHost };
      const proof = randomBytes(32).toString("base64url");
      await store.putPending(proof, { by: by.id, until: now() + registrationSeconds * 1_000 });
      const returnTo = new URL(githubAppPage, origin).href;
      const hook = config.settings.hooks.address;
      const manifest = makeManifest({
        returnTo,
        ...(hook !== undefined && { hook: `${hook.replace(/\/$/, "")}/hooks/app/github` }),
      });
      const action = registrationAddress(place, {
        state: proof,
        ...(organization !== undefined && { organization }),
      });
      return { ok: true, form: { action, manifest: JSON.stringify(manifest) } };
    },
    async finish({ code, state }, by) {
      const pending = await store.takePending(state);
      if (!pending || pending.by !== by.id || pending.until <= now()) return { ok: false, message: notBegun };
      const there = await describe();
      if (there.app) return { ok: false, message: alreadyThere(there.app.name) };
      const answer = await convertCode(place, code, signal);
      if (!answer.ok) {
        if (answer.outage) await store.putPending(state, pending);
        return answer;
      }
      const { app } = answer;
      for (const secret of [app.privateKey, app.webhookSecret]) if (secret) masker.add(secret);
      const isNew = await store.write({ ...app, ...place, at: now() });
      if (!isNew) return { ok: false, message: alreadyThere("another") };
      audit({ action: "setup-saved", names: ["github-app"], by: { id: by.id, name: by.name } });
      return { ok: true, state: await describe() };
    },
    async look() {
      const app = await readOrRefuse(store);
      if (!app.ok) return app;
      const { clientId, privateKey, api } = app.app;
      const found = await listInstallations(
        api,
        { clientId, privateKey: createPrivateKey(privateKey) },
        { now, signal, onToken: (token) => masker.add(token) },
      );
      if (!found.ok) return found;
      const { installations } = found;
      const reached = new Set(
        installations.flatMap(({ repositories }) => repositories.map((each) => each.toLowerCase())),
      );
      const missing = listAppRepositories(config)
        .filter((one) => one.api === api && !reached.has(one.title.toLowerCase()))
        .map(({ title }) => title);
      return { ok: true, reach: { installations, missing } };
    },
    async forget(by) {
      const removed = await store.remove();
      if (removed)
        audit({ action: "setup-removed", names: ["github-app"], by: { id: by.id, name: by.name } });
      return removed;
    },
  };
}

const notBegun =
  "This registration was not begun here by you, was ended already, or took more than an hour. Begin again; if GitHub shows a new App, delete it there.";

function alreadyThere(name: string): string {
  return `There is a GitHub App already (${name}). Have it forgotten first.`;
}

async function readOrRefuse(
  store: GithubAppStore,
): Promise<{ ok: true; app: StoredGithubApp } | GithubAppRefusal> {
  try {
    const app = await store.read();
    return app ? { ok: true, app } : { ok: false, message: "There is no GitHub App." };
  } catch (error) {
    if (error instanceof UnreadableApp) return { ok: false, message: error.message };
    throw error;
  }
}

function describeApp(app: StoredGithubApp): NonNullable<GithubAppState["app"]> {
  const { name, slug, owner, page, url, at } = app;
  const of = owner.isOrganization ? `/organizations/${owner.login}` : "";
  return {
    ...{ name, owner: owner.login, page, at },
    installAt: `${page}/installations/new`,
    deleteAt: `${url}${of}/settings/apps/${slug}/advanced`,
  };
}
