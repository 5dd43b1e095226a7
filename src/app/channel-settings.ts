import { openPullRequestName, openRepositoryName } from "../agent/contracts/repositories.ts";
import { getSkillName } from "../agent/skills/get-skill.ts";
import type { SkillLibrary } from "../agent/skills/library.ts";
import { parseThreadId, type ThreadId } from "../chat/threads.ts";
import type { Settings } from "../config/schema.ts";

export type ChannelSettings = Settings["channels"][string];

type ByChannel = Pick<Settings, "channels">;

/**
 * What is different in the channel of a thread. A list of tools is the whole list; who names skills or repositories
 * beside it means that they can be used, so it gets the tools for that.
 */
export function channelSettings({ channels }: ByChannel, thread: ThreadId): Partial<ChannelSettings> {
  const { platform, workspace, channel } = parseThreadId(thread);
  const settings = channels[`${platform}:${workspace}:${channel}`];
  if (!settings?.tools) return settings ?? {};
  const { tools, skills = [], repositories = [] } = settings;
  const implied = [
    ...(skills.length > 0 ? [getSkillName] : []),
    ...(repositories.length > 0 ? [openRepositoryName, openPullRequestName] : []),
  ];
  return { ...settings, tools: [...new Set([...tools, ...implied])] };
}

/** The models that people may choose in a thread, besides the one that answers there anyway. */
export function modelChoicesIn(
  settings: ByChannel & Pick<Settings, "modelChoices">,
  thread: ThreadId,
): readonly string[] {
  return channelSettings(settings, thread).modelChoices ?? settings.modelChoices;
}

/** The names of the skills that a thread has. */
export async function listSkillNames(
  settings: ByChannel,
  library: Pick<SkillLibrary, "current">,
  thread: ThreadId,
): Promise<string[]> {
  const channel = channelSettings(settings, thread);
  const { skills } = await library.current();
  return skills.map(({ name }) => name).filter((name) => hasSkill(channel, name));
}

/** Whether a channel has a skill, which nobody can follow without the tool that loads it. */
export function hasSkill({ skills, tools }: Partial<ChannelSettings>, name: string): boolean {
  return isListed(skills, name) && isListed(tools, getSkillName);
}

/** Whether a channel's list has the name, itself or by its beginning (`github__*`). Without a list it has all. */
export function isListed(list: readonly string[] | undefined, name: string): boolean {
  if (!list) return true;
  return list.some((entry) => (entry.endsWith("*") ? name.startsWith(entry.slice(0, -1)) : name === entry));
}
