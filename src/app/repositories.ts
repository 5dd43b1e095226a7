import { createPrivateKey } from "node:crypto";
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { Redis } from "ioredis";
import type { GrowingMasker } from "../agent/secrets/mask-secrets.ts";
import { ConfigError } from "../config/config-error.ts";
import type { Config } from "../config/load.ts";
import type { Settings } from "../config/schema.ts";
import { UnreadableApp } from "../queue/stores/github-app.ts";
import { rememberThreadBranch } from "../queue/stores/pull-requests.ts";
import { createStaticCredential, type RepositoryCredential } from "../repositories/credential.ts";
import {
  type AppReading,
  createAppCredential,
  type GithubApp,
  readAppLogin,
} from "../repositories/github-app.ts";
import { kindOf, kinds } from "../repositories/kinds.ts";
import { reachRegistries } from "./registries.ts";
import { createRepositories, type Repositories } from "../repositories/repositories.ts";
import { openGithubAppStore } from "./setup/github-app.ts";

type RepositoryConfig = Pick<Config, "environment" | "settings" | "variables" | "dataDir">;

/** The repositories as the settings give them to channels. @throws ConfigError where a token or key is not set or is none */
export function openRepositories(
  config: RepositoryConfig,
  { redis, masker }: { redis(): Redis; masker: Pick<GrowingMasker, "add"> },
): Repositories {
  const { settings } = config;
  const readApp = createAppReader(config, { redis, masker });
  return createRepositories({
    settings: settings.repositories,
    namesOf: (thread) => namesOf(settings, thread),
    reachOf: (name) =>
      reachRegistries(settings.repositories[name]?.registries ?? [], settings.egress.registries),
    credentialOf(name, { kind, ...place }): RepositoryCredential {
      const token = readToken(name, config);
      if (token !== undefined || kind !== "github") return createStaticCredential(token);
      return createAppCredential({
        readApp: () => readApp(place.api),
        ...{ place, now: Date.now, onToken: (made) => masker.add(made) },
      });
    },
    remember: (entry) => rememberThreadBranch(redis(), entry),
    now: Date.now,
  });
}

/** How long it is waited for a host to say who Heddle is there, and after which it is asked again, ms. */
const introductionMs = 3_000;
const askAgainMs = 60_000;

/**
 * Creates what tells the accounts that Heddle works under at GitHub, in small letters: those of its App, asked for once.
 * As long as a host does not say it, none is known there, and it is asked again.
 */
export function createOwnLogins(
  config: RepositoryConfig,
  now: () => number = Date.now,
): () => Promise<ReadonlySet<string>> {
  const app = readGithubApp(config);
  const places = app ? listAppPlaces(config) : [];
  const known = new Set<string>();
  const asked = new Map<string, number>();
  const ask = async (api: string) => {
    if (!app || (asked.get(api) ?? 0) > now() - askAgainMs) return;
    asked.set(api, now());
    const login = await readAppLogin(app, { api }, now);
    if (login === undefined) return;
    known.add(login.toLowerCase());
    asked.set(api, Number.POSITIVE_INFINITY);
  };
  let asking: Promise<unknown> | undefined;
  return async () => {
    asking ??= Promise.all(places.map(ask)).finally(() => (asking = undefined));
    await Promise.race([asking, delay(introductionMs, undefined, { ref: false })]);
    return known;
  };
}

/** The APIs of GitHub at which Heddle signs in as an App. */
function listAppPlaces({ settings }: RepositoryConfig): string[] {
  const apis = Object.values(settings.repositories).flatMap(({ url, kind, tokenVariable }) => {
    const address = new URL(url);
    const isByApp = (kind ?? kindOf(address)) === "github" && tokenVariable === undefined;
    return isByApp ? [kinds.github.apiOf(address)] : [];
  });
  return [...new Set(apis)];
}

/** The App of the environment, else that which was registered from the console, at its own host only. */
function createAppReader(
  config: RepositoryConfig,
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

/** @param thread also of what is no thread, as the sandbox names its own probe: that has none */
function namesOf({ channels }: Settings, thread: string): readonly string[] {
  return channels[thread.split(":").slice(0, 3).join(":")]?.repositories ?? [];
}

function readToken(name: string, { settings, variables }: RepositoryConfig): string | undefined {
  const variable = settings.repositories[name]?.tokenVariable;
  if (variable === undefined) return undefined;
  const token = variables[variable];
  if (token === undefined) {
    throw new ConfigError(
      `repositories.${name} names ${variable}, which is not set; set it in the environment or in .env, or remove tokenVariable.`,
    );
  }
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw new ConfigError(
      `${variable}, which repositories.${name} names, is no token; set it in one line, without blanks.`,
    );
  }
  return token;
}

function readGithubApp({ environment }: RepositoryConfig): GithubApp | undefined {
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
