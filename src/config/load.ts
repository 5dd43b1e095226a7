import { dirname, resolve } from "node:path";
import { parseEnv } from "node:util";
import { isInProc } from "../agent/file-problems.ts";
import { findPasswords } from "../agent/text/url-passwords.ts";
import { collectorHeaders } from "./collector-headers.ts";
import { check, readYaml } from "./check-yaml.ts";
import { ConfigError } from "./config-error.ts";
import { type Environment, environmentSchema } from "./environment.ts";
import { fillInVariables } from "./header-variables.ts";
import { checkProviders } from "./model-names.ts";
import { readText } from "./read-text.ts";
import { type Settings, settingsSchema } from "./schema.ts";

export interface Config {
  environment: Environment;
  settings: Settings;
  /** The file that the settings come from; undefined when there is none, or nothing in it. */
  settingsFile: string | undefined;
  /** Absolute. */
  dataDir: string;
  /** Every secret value, for masking. */
  secrets: string[];
  /** Files that may hold secrets, whether or not they exist. */
  secretFiles: string[];
  /** All variables, `.env` included, for references in `mcp.json`. */
  variables: Readonly<Record<string, string>>;
}

const secretNames = [
  "SLACK_BOT_TOKEN",
  "SLACK_APP_TOKEN",
  "SLACK_SIGNING_SECRET",
  "SLACK_CLIENT_SECRET",
  "SLACK_STATE_SECRET",
  "DISCORD_TOKEN",
  "ANTHROPIC_API_KEY",
  "OPENAI_API_KEY",
  "MINIMAX_API_KEY",
  "BRAVE_API_KEY",
  "TAVILY_API_KEY",
  "GITHUB_APP_PRIVATE_KEY",
  "HEDDLE_CONSOLE_TOKEN",
  "HEDDLE_OPENID_CLIENT_SECRET",
  "HEDDLE_AUDIT_KEY",
  "HEDDLE_SEAL_KEY",
  "REDIS_SENTINEL_PASSWORD",
] as const satisfies readonly (keyof Environment)[];

/** What was stored with a key does not open with a part of it: these are taken as they are. */
const exactNames: ReadonlySet<string> = new Set(["HEDDLE_AUDIT_KEY", "HEDDLE_SEAL_KEY"]);

/**
 * Reads the environment and `.env` in the working directory (the environment wins): what is known without the settings
 * file, so that it may be broken. An empty variable counts as absent, because compose files and CI systems set them so,
 * and does not hide the one of `.env`. Blanks and line breaks around a value do not belong to it: Kubernetes' secrets are
 * often made of a file that ends with one, and Docker reads `\r` into the values of a file from Windows.
 *
 * @throws ConfigError
 */
export function loadEnvironment(
  env: NodeJS.ProcessEnv,
  cwd: string,
): Pick<Config, "environment" | "variables" | "dataDir"> {
  const fromFile = parseEnv(readText(resolve(cwd, ".env")) ?? "");
  const variables = { ...readPresent(fromFile), ...readPresent(env) };
  const environment = check(environmentSchema, variables, "the environment");
  const dataDir = checkFolder("HEDDLE_DATA_DIR", resolve(cwd, environment.HEDDLE_DATA_DIR), "./data");
  return { environment, variables, dataDir };
}

/** Reads the environment, see {@link loadEnvironment}, and the settings file. @throws ConfigError */
export function loadConfig(env: NodeJS.ProcessEnv, cwd: string): Config {
  const { environment, variables, dataDir } = loadEnvironment(env, cwd);
  const path = resolve(cwd, environment.HEDDLE_CONFIG);
  const text = readText(path);
  if (variables["HEDDLE_CONFIG"] !== undefined && text === undefined) {
    throw new ConfigError(
      `HEDDLE_CONFIG names ${path}, which does not exist; create it or unset the variable.`,
    );
  }
  const settingsFile = text?.trim() ? path : undefined;
  const settings = check(settingsSchema, text === undefined ? {} : readYaml(text, path), path);
  // Paths in the settings start at the file that names them.
  const beside = (relative: string) => resolve(dirname(path), relative);
  if (settings.demo.scripts) settings.demo.scripts = beside(settings.demo.scripts);
  if (settings.skills.folders) settings.skills.folders = settings.skills.folders.map(beside);
  settings.mcp.config = beside(settings.mcp.config);
  const { workspaces, telemetry } = settings;
  const writable = (setting: string, relative: string) =>
    checkFolder(setting, beside(relative), "a folder beside this file");
  if (workspaces.store) workspaces.store = writable("workspaces.store", workspaces.store);
  if (telemetry.auditFolder) telemetry.auditFolder = writable("telemetry.auditFolder", telemetry.auditFolder);

  checkProviders(settings, environment.HEDDLE_MODEL);
  const headerSecrets = fillInHeaders(settings, variables);

  return {
    environment,
    settings,
    settingsFile,
    dataDir,
    secrets: [
      ...secretNames.map((name) => environment[name]),
      ...listAddresses(variables).flatMap(findPasswords),
      ...listCollectorSecrets(environment.OTEL_EXPORTER_OTLP_HEADERS),
      ...settings.egress.credentials.flatMap(({ variable }) => listHeaderSecrets(variables[variable])),
      ...headerSecrets,
      ...Object.values(settings.repositories).map(({ tokenVariable = "" }) => variables[tokenVariable]),
      ...Object.values(settings.repositories).map(
        ({ feedback }) => variables[feedback?.secretVariable ?? ""],
      ),
      ...Object.values(settings.triggers).map(({ secretVariable }) => variables[secretVariable]),
      ...Object.values(settings.providers).map(({ keyVariable = "" }) => variables[keyVariable]),
    ].filter((value) => value !== undefined),
    secretFiles: [
      ...[resolve(cwd, ".env"), path, settings.mcp.config],
      ...[environment.GITHUB_APP_PRIVATE_KEY_FILE ?? []].flat().map((file) => resolve(cwd, file)),
    ],
    variables,
  };
}

/** Those with a value, without what surrounds it. */
function readPresent(variables: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    Object.entries(variables)
      .map(([name, value = ""]) => [name, exactNames.has(name) ? value : value.trim()] as const)
      .filter(([, value]) => value.trim() !== ""),
  );
}

/** Puts the variables into the headers of the settings. Gives their values. */
function fillInHeaders({ models, providers }: Settings, variables: Config["variables"]): string[] {
  return Object.entries({ models, providers }).flatMap(([section, entries]) =>
    Object.entries(entries).flatMap(([name, entry]) => {
      if (!entry.headers) return [];
      const { headers, secrets } = fillInVariables(entry.headers, variables, `${section}.${name}.headers`);
      entry.headers = headers;
      return secrets;
    }),
  );
}

/** @throws ConfigError */
function checkFolder(setting: string, folder: string, example: string): string {
  if (!isInProc(folder)) return folder;
  throw new ConfigError(
    `${setting}: expected a folder that can hold files, which /proc cannot, e.g. ${example}.`,
  );
}

/** Variables that look like ours and are none, mostly because their name was remembered wrongly. */
export function listUnknownVariables(variables: Config["variables"]): string[] {
  return Object.keys(variables).filter(
    (name) => /^(HEDDLE|SLACK|DISCORD)_/.test(name) && !(name in environmentSchema.shape),
  );
}

/** What may hold an address with a password: our own variables, and those that name a proxy. */
function listAddresses(variables: Config["variables"]): string[] {
  return Object.entries(variables).flatMap(([name, value]) =>
    name in environmentSchema.shape || /^(https?|all)_proxy$/i.test(name) ? [value] : [],
  );
}

/** A header's value, and what it says after its scheme (`Bearer`, `Basic`), which may turn up alone. */
function listHeaderSecrets(value: string | undefined): string[] {
  const bare = value?.split(" ").at(-1);
  return value && bare ? [value, bare] : [];
}

/** The values of `name=value` pairs, as they are written and as they are sent. */
function listCollectorSecrets(headers: string | undefined): string[] {
  return Object.values(collectorHeaders(headers)).flatMap((value) => [
    ...listHeaderSecrets(value),
    encodeURIComponent(value),
  ]);
}
