import type { AdminChange, ChangedSetting } from "../../queue/stores/administration-changes.ts";
import type { Settings } from "../../config/schema.ts";

/** Settings with what administrators have changed in chat, and what of that does not count, a sentence each. */
export interface ChangedSettings {
  settings: Settings;
  ignored: { change: AdminChange; why: string }[];
}

/**
 * Puts the changes over the file's settings. What an administrator says of a channel replaces what the file says of it;
 * of a person it counts beside the file's lists. The file's denials stand above both: whoever `access.denied` names
 * stays denied, and an administrator of the file is not denied by another one.
 *
 * @param models the names that a channel's model may have
 */
export function applyChanges(
  settings: Settings,
  changes: readonly AdminChange[],
  models: readonly string[],
): ChangedSettings {
  if (changes.length === 0) return { settings, ignored: [] };
  const access = structuredClone(settings.access);
  const channels = { ...settings.channels };
  const budgets = { ...settings.budgets, channels: { ...settings.budgets.channels } };
  const ignored: ChangedSettings["ignored"] = [];
  for (const change of changes) {
    const why = findObstacle(settings, change, models);
    if (why !== undefined) {
      ignored.push({ change, why });
      continue;
    }
    switch (change.setting) {
      case "person":
        listPerson(access, change);
        break;
      case "budget":
        budgets.channels[change.of] = change.value;
        break;
      case "model":
      case "instructions":
      case "verbosity":
        channels[change.of] = { network: [], ...channels[change.of], [change.setting]: change.value };
    }
  }
  return { settings: { ...settings, access, channels, budgets }, ignored };
}

/** Why a change does not count; undefined where it does. */
export function findObstacle(
  { access }: Pick<Settings, "access">,
  change: ChangedSetting,
  models: readonly string[],
): string | undefined {
  if (change.setting === "model") {
    return models.includes(change.value)
      ? undefined
      : `The configuration names no model ${change.value} any more.`;
  }
  if (change.setting !== "person") return undefined;
  const { platform, workspace, id } = splitId(change.of);
  const names = [id, `${workspace}:${id}`];
  if (change.value === "deny") {
    return access.administrators.some((listed) => names.includes(listed))
      ? "The file names this person as an administrator, whom only the file can deny."
      : undefined;
  }
  if (access.denied.some((listed) => names.includes(listed))) {
    return "The file denies this person (access.denied), which nobody can change in chat.";
  }
  return platform === "slack" || platform === "discord"
    ? undefined
    : `There is no list of people for ${platform}.`;
}

function listPerson(
  access: Settings["access"],
  { of, value }: Extract<AdminChange, { setting: "person" }>,
): void {
  const { platform, workspace, id } = splitId(of);
  const person = `${workspace}:${id}`;
  if (value === "deny") access.denied.push(person);
  else if (platform === "slack" || platform === "discord") access[platform].users.push(person);
}

function splitId(of: string): { platform: string; workspace: string; id: string } {
  const [platform = "", workspace = "", ...id] = of.split(":");
  return { platform, workspace, id: id.join(":") };
}
