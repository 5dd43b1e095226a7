import { dirname, resolve } from "node:path";
import { stringify } from "yaml";
import type { Config } from "../../config/load.ts";
import { type Settings, settingsSchema } from "../../config/schema.ts";
import type { SettingLine, SettingsReport } from "../../operations/reports.ts";
import { formatBudget } from "../../queue/stores/administration-changes.ts";
import { type ChannelSettings, channelSettings, modelChoicesIn } from "../channel-settings.ts";
import { listModelNames, offerModels } from "../models/models.ts";
import type { LiveConfiguration } from "./live-configuration.ts";

/** What stands for a value that nobody is shown: headers and fields of requests may hold keys, however they are called. */
const hidden = "(not shown)";
const freeForm = new Set(["headers", "body"]);

/** What is configured and in force, with where each of it comes from. Masking is the caller's. */
export function describeSettings(
  configuration: Pick<LiveConfiguration, "current" | "changes" | "state">,
): SettingsReport {
  const config = configuration.current();
  const { file, ignored } = configuration.changes();
  const { hash, at, problem, restart } = configuration.state();
  return {
    ...(config.settingsFile !== undefined && { file: config.settingsFile }),
    ...{ hash, at, restart },
    ...(problem !== undefined && { problem }),
    ignored: ignored.map(({ change: { setting, of }, why }) => ({ setting, of, why })),
    settings: describeGeneral(config, file),
    channels: listChannels(config.settings).map((id) => ({
      id,
      settings: describeChannel(config, file, id),
    })),
  };
}

/** What holds everywhere. */
function describeGeneral(config: Config, file: Settings): SettingLine[] {
  const defaults = settingsSchema.parse({});
  // It is stored as it is found from the file; without one nobody has named another.
  defaults.mcp.config = config.settingsFile
    ? resolve(dirname(config.settingsFile), defaults.mcp.config)
    : config.settings.mcp.config;
  const [byDefault, byFile] = [defaults, file].map((settings) => new Map(flatten(withoutChannels(settings))));
  const lines = flatten(withoutChannels(config.settings)).map(([name, value]): SettingLine => {
    if (value !== byFile?.get(name)) return { name, value, from: "chat" };
    return { name, value, from: value === byDefault?.get(name) ? "default" : "file" };
  });
  return [describeModel(config), ...lines.filter(({ name }) => name !== "model")];
}

function describeModel(config: Config): SettingLine {
  const { environment, settings } = config;
  const from = environment.HEDDLE_MODEL ? "environment" : settings.model ? "file" : "default";
  return { name: "model", value: listModelNames(config)[0] ?? "", from };
}

/** Those are shown with their channels. */
function withoutChannels({ budgets, egress, ...settings }: Settings): object {
  const none = { channels: undefined };
  return { ...settings, ...none, budgets: { ...budgets, ...none }, egress: { ...egress, ...none } };
}

function listChannels({ channels, budgets, egress }: Settings): string[] {
  const all = [channels, budgets.channels, egress.channels].flatMap((one) => Object.keys(one));
  return [...new Set(all)].toSorted();
}

function describeChannel(config: Config, file: Settings, id: string): SettingLine[] {
  const inFile = new Map(
    readChannel({ ...config, settings: file }, id).map(({ name, value }) => [name, value]),
  );
  return readChannel(config, id).map(({ name, value, isOwn }) => {
    if (value !== inFile.get(name)) return { name, value, from: "chat" };
    return { name, value, from: isOwn ? "file" : "everywhere" };
  });
}

/** What somebody has said of a channel, or what holds there for want of it. */
interface ChannelLine {
  name: string;
  value: string;
  isOwn: boolean;
}

/** All that can be different in a channel, as it holds there. */
function readChannel(config: Config, id: string): ChannelLine[] {
  const { settings } = config;
  const thread = `${id}:0`;
  const own = channelSettings(settings, thread);
  const otherwise = {
    ...{ model: offerModels(config, thread).standard, modelChoices: modelChoicesIn(settings, thread) },
    ...{ skills: "all", tools: "all", instructions: "", verbosity: "normal", plan: "offer", keepDays: "" },
    ...{ repositories: "", registries: "", toolChains: "" },
  } satisfies Partial<Record<keyof ChannelSettings, unknown>>;
  const lines = (Object.keys(otherwise) as (keyof typeof otherwise)[]).map((name) =>
    toLine(name, own[name] !== undefined, own[name] ?? otherwise[name]),
  );
  const budget = settings.budgets.channels[id];
  return [
    ...lines,
    ...readReach(settings, id, own),
    toLine("budget", budget !== undefined, formatBudget(budget ?? settings.budgets.channel)),
    ...flatten({ watch: own.watch }).map(([name, value]) => ({ name, value, isOwn: true })),
  ];
}

/** What a channel reaches of the network: what is said of it comes beside what is said of all. */
function readReach(
  { web, egress }: Settings,
  id: string,
  { web: own, network = [] }: Partial<ChannelSettings>,
): ChannelLine[] {
  const pages = own?.allow ?? [];
  const hosts = [...(egress.channels[id]?.allow ?? []), ...network];
  return [
    toLine("web.fetch", own?.fetch !== undefined, own?.fetch ?? web.fetch),
    toLine("web.search", own?.search !== undefined, own?.search === false ? "off" : web.search),
    toLine("web.allow", pages.length > 0, [...web.allow, ...pages]),
    toLine("network", hosts.length > 0, [...new Set([...egress.allow, ...hosts])]),
  ];
}

function toLine(name: string, isOwn: boolean, value: unknown): ChannelLine {
  return { name, isOwn, value: formatValue(value) };
}

/** Each value by the names on the way to it: `agent.maxSteps`. */
function flatten(settings: object, path: readonly string[] = []): [name: string, value: string][] {
  return Object.entries(settings).flatMap(([key, value]: [string, unknown]): [string, string][] => {
    const names = [...path, key];
    if (value === undefined) return [];
    if (path.some((name) => freeForm.has(name))) return [[names.join("."), hidden]];
    // `{}` says something of a budget.
    if (isFilled(value)) return flatten(value, names);
    return [[names.join("."), formatValue(value)]];
  });
}

function isFilled(value: unknown): value is object {
  return (
    typeof value === "object" && value !== null && !Array.isArray(value) && Object.keys(value).length > 0
  );
}

function formatValue(value: unknown): string {
  if (value === undefined) return "";
  if (typeof value === "string") return value;
  const isList = Array.isArray(value) && value.every((one) => typeof one !== "object");
  if (isList) return value.join(", ");
  return typeof value === "object" ? toYaml(value) : JSON.stringify(value);
}

function toYaml(value: unknown): string {
  return stringify(value, { lineWidth: 0 }).trimEnd();
}
