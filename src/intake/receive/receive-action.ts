import type { InboundAction, IntakeResult } from "../../chat/inbound.ts";
import { threadId } from "../../chat/threads.ts";
import { type Ratings, readRatingAction } from "../../queue/budgets/ratings.ts";
import { readContinueAction } from "../../queue/session/continue-offer.ts";
import { chooseModel, type ModelChoiceOptions } from "../choose-model.ts";
import { chooseSkill, type SkillChoiceOptions } from "../choose-skill.ts";
import type { Continuing } from "../continue-paused.ts";
import type { QuestionDecisions } from "../questions/question-decisions.ts";
import type { Replies } from "../replies.ts";
import { readModelChoice } from "../text-commands/model.ts";
import { readSkillChoice } from "../text-commands/skill.ts";
import type { Undoing } from "../undoing.ts";
import type { WaitingQueue } from "../waiting-queue/waiting-queue.ts";

export interface ActionOptions extends ModelChoiceOptions, SkillChoiceOptions {
  /** Absent where answers do not ask for a rating. */
  ratings?: Ratings;
}

/** Creates what takes presses of buttons and choices: ratings, what waits, a model or skill, Continue, and the answers to questions. */
export function createActionReceiver(
  options: ActionOptions,
  {
    replies,
    questions,
    continuing,
    waitingQueue,
    undoing,
    fillPrompt,
  }: {
    replies: Replies;
    questions: QuestionDecisions;
    continuing: Continuing;
    waitingQueue: Pick<WaitingQueue, "press">;
    undoing: Pick<Undoing, "press">;
    /** Takes the arguments of a prompt. */
    fillPrompt(event: InboundAction): Promise<IntakeResult | undefined>;
  },
): (event: InboundAction) => Promise<IntakeResult> {
  const { ratings } = options;

  const choose = async ({ thread, action }: InboundAction): Promise<IntakeResult | undefined> => {
    const [model, skill] = [readModelChoice(action), readSkillChoice(action)];
    if (model === undefined && skill === undefined) return undefined;
    const {
      kind,
      markdown: reply,
      ...rest
    } = model === undefined
      ? await chooseSkill(options, thread, skill)
      : await chooseModel(options, thread, [model]);
    if (kind === "refused") return { kind, reply };
    return { kind: "acted", thread: threadId(thread), reply, ...rest };
  };

  const rate = async ({ thread, author, action }: InboundAction): Promise<IntakeResult | undefined> => {
    const rating = readRatingAction(action);
    if (!rating || !ratings) return undefined;
    const outcome = await ratings.rate(thread, author.id, rating);
    if (outcome === "unknown-answer") return { kind: "ignored", why: "that answer is not known any more" };
    const unchanged = outcome === "unchanged" && ({ unchanged: true } as const);
    return { kind: "acted", thread: threadId(thread), reply: "Thank you, that is noted.", ...unchanged };
  };

  return async (event) => {
    const settled = (await rate(event)) ?? (await waitingQueue.press(event)) ?? (await choose(event));
    if (settled) return settled;
    const done = (await undoing.press(event)) ?? (await fillPrompt(event));
    if (done) {
      if (done.kind === "refused" && !event.tellsRefusal) await replies.reply(event, done.reply);
      return done;
    }
    const turn = readContinueAction(event.action);
    const result =
      turn === undefined ? await questions.decideByButton(event) : await continuing.press(event, turn);
    if (result?.kind === "refused" && !event.tellsRefusal) await replies.reply(event, result.reply);
    return result ?? { kind: "ignored", why: "there is no such button" };
  };
}
