import type { Redis } from "ioredis";
import type { ChoiceMenu } from "../chat/outbound.ts";
import { threadId, type ThreadRef } from "../chat/threads.ts";
import { fetchThreadModel, setThreadModel } from "../queue/session/choices/thread-model.ts";
import { answerModelCommand, type ModelOffer, offerModels } from "./text-commands/model.ts";

export interface ModelChoiceOptions {
  redis: Redis;
  /** The models that answer, or may be chosen, in that thread. */
  models(thread: ThreadRef): ModelOffer;
}

const noSession =
  "Nobody has asked me anything in this thread yet. Give me a task first, then say which model to use.";

/** What choosing a model or a skill came to. `menus` offer the others, for the person who asked. */
export type ChoiceAnswer =
  | { kind: "answered"; markdown: string; menus: ChoiceMenu[] }
  | { kind: "refused"; markdown: string };

/**
 * Says which model answers in the thread, or chooses another from the next task on.
 *
 * @param words as in `!model <name> [effort]`
 */
export async function chooseModel(
  { redis, models }: ModelChoiceOptions,
  place: ThreadRef,
  words: readonly string[],
): Promise<ChoiceAnswer> {
  const thread = threadId(place);
  const current = await fetchThreadModel(redis, thread);
  const offer = models(place);
  const { markdown, chosen } = answerModelCommand(words, current ?? {}, offer);
  if (chosen && !current) return { kind: "refused", markdown: noSession };
  if (chosen) await setThreadModel(redis, thread, chosen);
  const menus = current ? offerModels(chosen ?? current, offer) : [];
  return { kind: "answered", markdown, menus };
}
