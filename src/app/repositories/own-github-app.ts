import { createPrivateKey } from "node:crypto";
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { Redis } from "ioredis";
import type { GrowingMasker } from "../../agent/secrets/mask-secrets.ts";
import { ConfigError } from "../../config/config-error.ts";
import type { Config } from "../../config/load.ts";
import { createGithubAppStore, type GithubAppStore, UnreadableApp } from "../../queue/stores/github-app.ts";
import { type AppReading, type GithubApp, readAppLogin } from "../../repositories/github-app.ts";
import { kindOf, kinds } from "../../repositories/kinds.ts";
import { readSealSecret } from "../mcp/mcp-accounts.ts";

/** The GitHub App that this Heddle works as: that of the environment, or the one that was registered from the console. */

type AppConfig = Pick<Config, "environment" | "settings" | "dataDir">;

/** Where the registered App is kept. Makes the key that seals it where there is none, when there is something to seal. */
export function openGithubAppStore(config: AppConfig, redis: Redis): GithubAppStore {
  return createGithubAppStore(redis, () => readSealSecret(config));
}

/** The App of the environment, else that which was registered from the console, at its own host only. */
export function createAppReader(
  config: AppConfig,
  { redis, masker }: { redis(): Redis; masker: Pick<GrowingMasker, "add"> },
): (api: string) => Promise<AppReading> {
  const app = readGithubApp(config);
  if (app) return async () => ({ ok: true, app });
  return async (api) => {
    try {
      const found = await openGithubAppStore(config, redis()).read();
      if (!found || found.api !== api) return { ok: true };
      masker.add(found.privateKey);
      const privateKey = createPrivateKey(found.privateKey);
      return { ok: true, app: { clientId: found.clientId, privateKey } };
    } catch (error) {
      const isKnown = error instanceof UnreadableApp;
      const why = isKnown ? "it was sealed with another HEDDLE_SEAL_KEY" : "what is stored does not answer";
      return {
        ok: false,
        reason: `the GitHub App cannot be read, since ${why}; the operator must look at it`,
      };
    }
  };
}

/** A repository of the settings that signs in with the App. */
export interface AppRepository {
  /** The base of its host's API, without a slash at its end. */
  api: string;
  /** Owner and name. */
  title: string;
}

export function listAppRepositories({ settings }: Pick<Config, "settings">): AppRepository[] {
  return Object.values(settings.repositories).flatMap(({ url, kind, tokenVariable, apiUrl }) => {
    const address = new URL(url);
    if (tokenVariable !== undefined || (kind ?? kindOf(address)) !== "github") return [];
    const api = (apiUrl ?? kinds.github.apiOf(address)).replace(/\/$/, "");
    return [{ api, title: address.pathname.slice(1).replace(/\.git$/, "") }];
  });
}

/** How long it is waited for a host to say who Heddle is there, and after which it is asked again, ms. */
const introductionMs = 3_000;
const askAgainMs = 60_000;

/**
 * Creates what tells the accounts that Heddle works under at GitHub, in small letters: those of its App, asked for once
 * for each App. As long as a host does not say it, none is known there, and it is asked again.
 */
export function createOwnLogins(
  config: Pick<Config, "settings">,
  readApp: ReturnType<typeof createAppReader>,
  now: () => number = Date.now,
): () => Promise<ReadonlySet<string>> {
  const places = [...new Set(listAppRepositories(config).map(({ api }) => api))];
  const known = new Map<string, string>();
  const asked = new Map<string, number>();
  const ask = async (api: string) => {
    const found = await readApp(api);
    if (!found.ok || !found.app) return;
    const one = `${api} ${found.app.clientId}`;
    if (known.has(one) || (asked.get(one) ?? 0) > now() - askAgainMs) return;
    asked.set(one, now());
    const login = await readAppLogin(found.app, { api }, now);
    if (login !== undefined) known.set(one, login.toLowerCase());
  };
  let asking: Promise<unknown> | undefined;
  return async () => {
    asking ??= Promise.all(places.map(ask)).finally(() => (asking = undefined));
    await Promise.race([asking, delay(introductionMs, undefined, { ref: false })]);
    return new Set(known.values());
  };
}

function readGithubApp({ environment }: AppConfig): GithubApp | undefined {
  const { GITHUB_APP_CLIENT_ID: clientId, GITHUB_APP_PRIVATE_KEY: key } = environment;
  const { GITHUB_APP_PRIVATE_KEY_FILE: file } = environment;
  if (clientId === undefined) return undefined;
  const where = key === undefined ? "GITHUB_APP_PRIVATE_KEY_FILE" : "GITHUB_APP_PRIVATE_KEY";
  if (key === undefined && file === undefined) {
    throw new ConfigError(
      "GITHUB_APP_CLIENT_ID is set without a key; set GITHUB_APP_PRIVATE_KEY or GITHUB_APP_PRIVATE_KEY_FILE as well.",
    );
  }
  try {
    const pem = key?.replaceAll("\\n", "\n") ?? readFileSync(file ?? "", "utf8");
    const privateKey = createPrivateKey(pem);
    if (privateKey.asymmetricKeyType !== "rsa") throw new Error("another kind of key");
    return { clientId, privateKey };
  } catch {
    // The cause could repeat what was read.
    throw new ConfigError(
      `${where} holds no RSA private key (PEM) that can be read; download the App's key again.`,
    );
  }
}
