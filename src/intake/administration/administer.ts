import type { Redis } from "ioredis";
import type { Speaker } from "../../agent/messages.ts";
import { cutText } from "../../agent/text/text.ts";
import { escapeMarkdown } from "../../chat/escape-markdown.ts";
import type { InboundMessage } from "../../chat/inbound.ts";
import { type ThreadId, threadId, type ThreadRef } from "../../chat/threads.ts";
import {
  type AdminChange,
  type ChangedSetting,
  formatBudget,
  formatChange,
  removeChange,
  type SettingName,
  storeChange,
} from "../../queue/stores/administration-changes.ts";
import type { Access } from "../access.ts";
import type { AdminCommand, ChannelCommand, DayBudget } from "./commands.ts";

/** Somebody has changed a setting. For the audit log. */
export interface SettingAuditEvent {
  action: "setting-changed";
  /** Where it was said; absent for an operator's command. */
  thread?: ThreadId;
  setting: ChangedSetting["setting"];
  /** The person or the channel, as `platform:workspace:id`. */
  of: string;
  was: string;
  is: string;
  by: Speaker;
}

export interface AdministrationOptions {
  /** Whether the file lets administrators change settings in chat. */
  isOn(): boolean;
  /** The names that a channel's model may have. */
  models(): readonly string[];
  /** What holds in the channel. */
  describe(place: ThreadRef): { model: string; instructions: string; verbosity: string; budget: DayBudget };
  /** Why the file does not let that change count; undefined where it does. */
  findObstacle(change: ChangedSetting): string | undefined;
  /** What is changed. */
  stored(): Promise<readonly AdminChange[]>;
}

export interface AdministerOptions {
  redis: Redis;
  access: Pick<Access, "mayAdminister">;
  administration?: AdministrationOptions;
  audit(event: SettingAuditEvent): void;
  now(): number;
}

/** `isRefused`: nothing was changed or shown. */
export interface AdminAnswer {
  markdown: string;
  isRefused?: true;
}

const mostChars = 300;
/** What counts where nobody has changed a setting. */
const byFile = "as in the file";

/**
 * Runs an administrator's command. Only for messages that people have written: what the model or a schedule says never
 * comes here.
 */
export async function administer(
  options: AdministerOptions,
  event: InboundMessage,
  command: AdminCommand,
): Promise<AdminAnswer> {
  const { administration, access } = options;
  const { thread: place, author } = event;
  if (!administration || !access.mayAdminister(place, author))
    return refuse("Only administrators may do that; whoever runs me lists them under access.administrators.");
  if (command.do === "explain") return refuse(command.why);
  if (command.do === "list") return { markdown: listPeople(await administration.stored(), place) };
  if (command.do === "show")
    return { markdown: describeChannel(await administration.stored(), administration, place) };
  if (!administration.isOn())
    return refuse("Settings cannot be changed in chat here: administration.chat is off in the file.");
  if (command.do === "set") return changeChannel(options, administration, event, command.change);
  const answers = [];
  for (const person of command.people)
    answers.push(await changePerson(options, administration, event, { do: command.do, person }));
  const isRefused = answers.every((answer) => answer.isRefused);
  return { markdown: answers.map(({ markdown }) => markdown).join("\n"), ...(isRefused && { isRefused }) };
}

function refuse(markdown: string): AdminAnswer {
  return { markdown, isRefused: true };
}

async function changePerson(
  options: AdministerOptions,
  administration: AdministrationOptions,
  event: InboundMessage,
  { do: what, person }: { do: "allow" | "deny" | "reset"; person: string },
): Promise<AdminAnswer> {
  const { platform, workspace } = event.thread;
  // Only whoever runs this Heddle is at home in all workspaces.
  if (person.includes(":") && event.author.standing !== "operator")
    return refuse(`${person}: name people of this workspace only, without the workspace.`);
  if (platform === "local" && !person.includes(":"))
    return refuse(
      `${person}: name the workspace too, e.g. slack:T012345:U012345; the console has one person only.`,
    );
  const of = person.includes(":") ? person : `${platform}:${workspace}:${person}`;
  const id = of.slice(of.lastIndexOf(":") + 1);
  const name = of.startsWith("local:") ? of : `<@${id}>`;
  if (what === "reset") {
    const known = await remove(options, event, { setting: "person", of });
    return {
      markdown: known ? `${name}: what the file says counts again.` : `${name}: nothing was changed.`,
    };
  }
  if (what === "deny" && id === event.author.id) return refuse("You cannot deny yourself.");
  const change = { setting: "person", of, value: what } as const;
  const obstacle = administration.findObstacle(change);
  if (obstacle !== undefined) return refuse(`${name}: ${obstacle}`);
  if (!(await store(options, event, change))) return refuse(noRoom);
  return {
    markdown:
      what === "allow"
        ? `${name} may give me work from now on.`
        : `${name} may not give me work any more, which counts for what is running too.`,
  };
}

const noRoom = "There is no room for more changes: take some back, or write them into the file.";

async function changeChannel(
  options: AdministerOptions,
  administration: AdministrationOptions,
  event: InboundMessage,
  { setting, value }: ChannelCommand,
): Promise<AdminAnswer> {
  const { platform, workspace, channel } = event.thread;
  const of = `${platform}:${workspace}:${channel}`;
  if (value === "default") {
    const known = await remove(options, event, { setting, of });
    const text = known
      ? `From the next task on, the ${setting} of this channel is what the file says.`
      : `The ${setting} of this channel is what the file says already.`;
    return { markdown: text };
  }
  const written = { setting, of, value } as ChangedSetting; // The command's setting and value belong together.
  const change = setting === "model" ? completeModel(written, administration.models()) : written;
  const obstacle =
    change.setting === "model" && !administration.models().includes(change.value)
      ? `There is no model ${change.value} here: choose one of ${administration.models().join(", ")}.`
      : administration.findObstacle(change);
  if (obstacle !== undefined) return refuse(obstacle);
  if (!(await store(options, event, change))) return refuse(noRoom);
  return { markdown: `From the next task on, in this channel: ${describeChange(change)}.` };
}

/** A name without its provider stands for the only model that is called so. */
function completeModel(change: ChangedSetting, models: readonly string[]): ChangedSetting {
  if (change.setting !== "model") return change;
  const [found, another] = models.filter((name) => name.endsWith(`/${change.value}`));
  return found !== undefined && another === undefined ? { ...change, value: found } : change;
}

function describeChange(change: ChangedSetting): string {
  switch (change.setting) {
    case "model":
      return `${change.value} answers where nobody chooses another`;
    case "budget":
      return `the budget is ${formatBudget(change.value)}`;
    case "verbosity":
      return `the verbosity is ${change.value}`;
    case "instructions":
      return "I heed these instructions";
    case "person":
      return change.value;
  }
}

/** False when there is no room. */
async function store(
  options: AdministerOptions,
  event: InboundMessage,
  change: ChangedSetting,
): Promise<boolean> {
  const by = { id: event.author.id, name: event.author.name };
  const stored = await storeChange(options.redis, { ...change, by, at: options.now() });
  if (stored === "full") return false;
  note(options, event, change, { was: stored.before, is: change });
  return true;
}

/** Whether there was something to take back. */
async function remove(
  options: AdministerOptions,
  event: InboundMessage,
  name: SettingName,
): Promise<boolean> {
  const { before } = await removeChange(options.redis, name);
  if (before) note(options, event, name, { was: before });
  return before !== undefined;
}

function note(
  { audit }: AdministerOptions,
  { thread, author }: InboundMessage,
  { setting, of }: SettingName,
  { was, is }: { was?: ChangedSetting | undefined; is?: ChangedSetting },
): void {
  const word = (change: ChangedSetting | undefined) =>
    change ? cutText(formatChange(change), mostChars) : byFile;
  const by = { id: author.id, name: author.name };
  audit({
    action: "setting-changed",
    thread: threadId(thread),
    setting,
    of,
    was: word(was),
    is: word(is),
    by,
  });
}

function listPeople(stored: readonly AdminChange[], { platform, workspace }: ThreadRef): string {
  const here = `${platform}:${workspace}:`;
  const people = stored.flatMap((change) =>
    change.setting === "person" && (change.of.startsWith(here) || platform === "local") ? [change] : [],
  );
  if (people.length === 0) return "Nobody was allowed or denied in chat; the file alone counts.";
  const lines = people.map(({ of, value, by, at }) => {
    const name = platform === "local" ? of : `<@${of.slice(here.length)}>`;
    return `- ${name}: ${value === "allow" ? "allowed" : "denied"} by ${escapeMarkdown(by.name)} on ${formatDate(at)}`;
  });
  return [...lines, "`!people reset @person` takes one of these back."].join("\n");
}

function describeChannel(
  stored: readonly AdminChange[],
  administration: AdministrationOptions,
  place: ThreadRef,
): string {
  const of = `${place.platform}:${place.workspace}:${place.channel}`;
  const { model, instructions, verbosity, budget } = administration.describe(place);
  const origin = (setting: ChangedSetting["setting"]) => {
    const change = stored.find((one) => one.setting === setting && one.of === of);
    return change ? `, set by ${escapeMarkdown(change.by.name)} on ${formatDate(change.at)}` : "";
  };
  const heeded = instructions === "" ? "none" : `“${escapeMarkdown(cutText(instructions, mostChars))}”`;
  return [
    `- **Model**: ${model}${origin("model")}`,
    `- **Instructions**: ${heeded}${origin("instructions")}`,
    `- **Verbosity**: ${verbosity}${origin("verbosity")}`,
    `- **Budget**: ${formatBudget(budget)}${origin("budget")}`,
    "`!channel <setting> <value>` changes one of these, `!channel <setting> default` takes that back.",
  ].join("\n");
}

function formatDate(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}
