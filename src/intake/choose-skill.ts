import type { Redis } from "ioredis";
import { threadId, type ThreadRef } from "../chat/threads.ts";
import { fetchThreadSkill, setThreadSkill } from "../queue/session/choices/thread-skill.ts";
import type { ChoiceAnswer } from "./choose-model.ts";
import { answerSkillCommand, offerSkills } from "./text-commands/skill.ts";

export interface SkillChoiceOptions {
  redis: Redis;
  /** The names of the skills that the thread has. */
  skills(thread: ThreadRef): Promise<readonly string[]>;
}

const noSession =
  "Nobody has asked me anything in this thread yet. Give me a task first, then say which skill to use.";

/**
 * Says which skill is used in the thread, or chooses another from the next task on.
 *
 * @param written as in `!skill <name>`
 */
export async function chooseSkill(
  { redis, skills }: SkillChoiceOptions,
  place: ThreadRef,
  written: string | undefined,
): Promise<ChoiceAnswer> {
  const thread = threadId(place);
  const [current, offered] = await Promise.all([fetchThreadSkill(redis, thread), skills(place)]);
  const { markdown, chosen } = answerSkillCommand(written, current?.skill, offered);
  if (chosen !== undefined && !current) return { kind: "refused", markdown: noSession };
  if (chosen !== undefined) await setThreadSkill(redis, thread, chosen ?? undefined);
  const used = chosen === undefined ? current?.skill : (chosen ?? undefined);
  return { kind: "answered", markdown, menus: current ? offerSkills(used, offered) : [] };
}
