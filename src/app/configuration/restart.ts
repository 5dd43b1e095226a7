import type { Environment } from "../../config/environment.ts";
import type { Settings } from "../../config/schema.ts";
import type { LoadedConfiguration } from "./load.ts";
import { isSameContent } from "./same-content.ts";

/**
 * Sections that are read whenever they are needed. All others count as read at start only, as those that connections,
 * sandboxes and queues are made from are; so does a new one until it is listed here.
 */
const liveSections = new Set<keyof Settings>([
  ...([
    "access",
    "administration",
    "agent",
    "attachments",
    "budgets",
    "channels",
    "compaction",
    "demo",
    "mcp",
  ] as const),
  ...(["model", "fallbackModels", "summaryModel", "taskModel", "modelChoices", "models"] as const),
  ...(["providers", "retry", "room", "schedules", "skills", "tools", "web"] as const),
]);

/** Variables that are read with every change of the configuration; all others of ours at start only. */
const liveVariables = new Set<keyof Environment>([
  ...(["HEDDLE_MODEL", "BRAVE_API_KEY", "TAVILY_API_KEY"] as const),
  ...(["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "MINIMAX_API_KEY"] as const),
  ...(["ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "MINIMAX_BASE_URL"] as const),
]);

/** Whether a variable, or a setting such as `access.discord.guilds`, counts without a restart. */
export function countsWithoutRestart(name: string): boolean {
  const live: ReadonlySet<string> = new Set([...liveVariables, ...liveSections]);
  return live.has(name.split(".")[0] ?? name);
}

/**
 * What was loaded, with everything that needs a restart as the process has started with, and the names of what differs
 * there.
 */
export function keepWhatNeedsRestart(
  started: LoadedConfiguration,
  next: LoadedConfiguration,
): { loaded: LoadedConfiguration; restart: string[] } {
  const { settings, environment } = next.config;
  const before = started.config;
  const startSections = (Object.keys({ ...before.settings, ...settings }) as (keyof Settings)[]).filter(
    (name) => !liveSections.has(name),
  );
  const sections = startSections.filter((name) => !isSameContent(settings[name], before.settings[name]));
  const names = Object.keys({ ...before.environment, ...environment }) as (keyof Environment)[];
  const variables = names.filter(
    (name) => !liveVariables.has(name) && !isSameContent(environment[name], before.environment[name]),
  );
  const kept = Object.fromEntries(startSections.map((name) => [name, before.settings[name]]));
  const live = Object.fromEntries([...liveVariables].map((name) => [name, environment[name]]));
  const restart = [
    ...sections,
    ...(settings.mcp.config === before.settings.mcp.config ? [] : ["mcp.config"]),
    ...(["network", "registries", "repositories", "toolChains"] as const)
      .filter((name) => !isSameContent(listOfChannels(settings, name), listOfChannels(before.settings, name)))
      .map((name) => `channels.*.${name}`),
    ...variables,
  ];
  const config = {
    ...next.config,
    settings: {
      ...settings,
      ...kept,
      mcp: { ...settings.mcp, config: before.settings.mcp.config },
    },
    environment: { ...before.environment, ...live },
    dataDir: before.dataDir,
    secretFiles: before.secretFiles,
  };
  return { loaded: { ...next, config }, restart };
}

/** What egress and repositories take of each channel when the process starts. */
function listOfChannels(
  { channels }: Settings,
  name: "network" | "registries" | "repositories" | "toolChains",
): Record<string, readonly string[] | undefined> {
  const entries = Object.entries(channels).map(([id, channel]) => [id, channel[name]] as const);
  return Object.fromEntries(entries.filter(([, listed]) => (listed?.length ?? 0) > 0));
}
