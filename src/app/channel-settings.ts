import type { SkillLibrary } from "../agent/skills/library.ts";
import { parseThreadId, type ThreadId } from "../chat/threads.ts";
import type { Settings } from "../config/schema.ts";

export type ChannelSettings = Settings["channels"][string];

type ByChannel = Pick<Settings, "channels">;

/** What is different in the channel of a thread. */
export function channelSettings({ channels }: ByChannel, thread: ThreadId): Partial<ChannelSettings> {
  const { platform, workspace, channel } = parseThreadId(thread);
  return channels[`${platform}:${workspace}:${channel}`] ?? {};
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
  const { skills: listed } = channelSettings(settings, thread);
  const { skills } = await library.current();
  return skills.map(({ name }) => name).filter((name) => isListed(listed, name));
}

/** Whether a channel's list has the name, itself or by its beginning (`github__*`). Without a list it has all. */
export function isListed(list: readonly string[] | undefined, name: string): boolean {
  if (!list) return true;
  return list.some((entry) => (entry.endsWith("*") ? name.startsWith(entry.slice(0, -1)) : name === entry));
}
