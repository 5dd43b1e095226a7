import type { Redis } from "ioredis";
import type { GrowingMasker } from "../../agent/secrets/mask-secrets.ts";
import { ConfigError } from "../../config/config-error.ts";
import type { Config } from "../../config/load.ts";
import type { Settings } from "../../config/schema.ts";
import { rememberThreadBranch } from "../../queue/stores/pull-requests.ts";
import { createStaticCredential, type RepositoryCredential } from "../../repositories/credential.ts";
import { createAppCredential } from "../../repositories/github-app.ts";
import { createAppReader } from "./own-github-app.ts";
import { reachRegistries } from "./registries.ts";
import { createRepositories, type Repositories } from "../../repositories/repositories.ts";

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
