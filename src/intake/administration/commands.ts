import type { ChangedSetting } from "../../queue/stores/administration-changes.ts";

type Verbosity = Extract<ChangedSetting, { setting: "verbosity" }>["value"];
export type DayBudget = Extract<ChangedSetting, { setting: "budget" }>["value"];

/** A setting of a channel; `default`: what the file says. */
export type ChannelCommand =
  | { setting: "model" | "instructions"; value: string }
  | { setting: "verbosity"; value: Verbosity | "default" }
  | { setting: "budget"; value: DayBudget | "default" };

/** What an administrator wants. `people`: ids, or `platform:workspace:id` where the console says so. */
export type AdminCommand =
  | { do: "allow" | "deny" | "reset"; people: string[] }
  | { do: "list" }
  | { do: "show" }
  | { do: "set"; change: ChannelCommand }
  /** Nearly one of them. */
  | { do: "explain"; why: string };

const mention = /^<@!?([A-Za-z0-9]+)(?:\|[^<>]*)?>$/;
const bareId = /^(?:(?:slack|discord):[A-Za-z0-9]+:)?([UW][A-Z0-9]{5,}|\d{15,21})$/;

/** What the whole message asks for; undefined where it is none of these commands. */
export function readAdminCommand(text: string): AdminCommand | undefined {
  const [, word = "", rest = ""] =
    /^[/!](allow|deny|people|channel)(?:\s+([\s\S]*))?$/i.exec(text.trim()) ?? [];
  switch (word.toLowerCase()) {
    case "allow":
      return readPeople("allow", rest);
    case "deny":
      return readPeople("deny", rest);
    case "people": {
      if (rest === "") return { do: "list" };
      const [, who] = /^reset\s+([\s\S]+)$/i.exec(rest) ?? [];
      return who === undefined ? { do: "explain", why: peopleHelp } : readPeople("reset", who);
    }
    case "channel":
      return readChannel(rest);
    default:
      return undefined;
  }
}

const peopleHelp =
  "`!people` lists whom administrators have allowed or denied, `!people reset @person` takes that back.";

function readPeople(what: "allow" | "deny" | "reset", text: string): AdminCommand {
  const words = text.split(/[\s,]+/).filter(Boolean);
  const people = words.map((word) => mention.exec(word)?.[1] ?? (bareId.test(word) ? word : undefined));
  const found = people.filter((person) => person !== undefined);
  if (found.length > 0 && found.length === words.length) return { do: what, people: found };
  return {
    do: "explain",
    why: `Mention the people, and write nothing else: \`!${what === "reset" ? "people reset" : what} @person\`. An id does as well, e.g. U012345.`,
  };
}

function readChannel(text: string): AdminCommand {
  if (text === "") return { do: "show" };
  const [, setting = "", value = ""] = /^(\S+)(?:\s+([\s\S]+))?$/.exec(text) ?? [];
  const isDefault = /^default$/i.test(value.trim());
  switch (setting.toLowerCase()) {
    case "model":
      if (/^\S+$/.test(value)) return set({ setting: "model", value: isDefault ? "default" : value });
      return explain(
        "`!channel model <name>` sets the model of this channel, `!channel model default` takes that back.",
      );
    case "instructions":
      if (value.trim() !== "") return readInstructions(isDefault ? "default" : value.trim());
      return explain(
        "`!channel instructions <text>` tells me what to heed in this channel, `!channel instructions default` takes that back.",
      );
    case "verbosity":
      return readVerbosity(value.trim().toLowerCase());
    case "budget":
      return readBudget(isDefault ? "default" : value.trim().toLowerCase());
    default:
      return explain(
        "`!channel` shows the settings of this channel; `!channel model`, `instructions`, `verbosity` or `budget`, with a value or `default`, changes one.",
      );
  }
}

/** As long as the file's may be. */
const longestInstructions = 20_000;

function readInstructions(value: string): AdminCommand {
  if (value.length > longestInstructions)
    return explain(`Instructions have at most ${longestInstructions.toLocaleString("en-US")} characters.`);
  return set({ setting: "instructions", value });
}

function readVerbosity(value: string): AdminCommand {
  switch (value) {
    case "quiet":
    case "normal":
    case "full":
    case "default":
      return set({ setting: "verbosity", value });
    default:
      return explain("`!channel verbosity` takes quiet, normal, full or default.");
  }
}

const budgetHelp =
  "`!channel budget` takes US dollars or tokens a day, e.g. `$5` or `200000 tokens`; `none` for no limit, `default` for what the file says.";

function readBudget(value: string): AdminCommand {
  if (value === "default") return set({ setting: "budget", value });
  if (value === "none") return set({ setting: "budget", value: {} });
  const [, dollars] = /^\$?(\d{1,9}(?:\.\d{1,6})?)(?:\s*(?:usd|\$))?$/.exec(value) ?? [];
  if (dollars !== undefined && Number(dollars) > 0)
    return set({ setting: "budget", value: { cost: Number(dollars) } });
  const [, tokens] = /^([\d,_']{1,18})\s*tokens?$/.exec(value) ?? [];
  const count = Number(tokens?.replaceAll(/[,_']/g, ""));
  return count > 0 && count <= 1e12
    ? set({ setting: "budget", value: { tokens: count } })
    : explain(budgetHelp);
}

function set(change: ChannelCommand): AdminCommand {
  return { do: "set", change };
}

function explain(why: string): AdminCommand {
  return { do: "explain", why };
}
