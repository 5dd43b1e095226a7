import type { OpenTurn } from "../../agent/journal/history.ts";
import type { JournalReader } from "../../agent/journal/journal.ts";
import { isFromPerson, type UserMessage } from "../../agent/messages.ts";
import { createPlanning, isApprovedPlan, type Planning, type PlanningOptions } from "../../agent/planning.ts";
import { isContinueCommand } from "../../intake/continue-paused.ts";

/**
 * Whether the turn must plan first: by its messages, its channel, or the task that it continues.
 *
 * @param asked the people's messages of the turn; grows while it runs
 * @param always whether every task of the channel begins with a plan
 */
export async function openPlanning(
  turn: OpenTurn | undefined,
  asked: readonly UserMessage[],
  journal: JournalReader,
  { always, onApproved }: Pick<PlanningOptions, "always" | "onApproved">,
): Promise<Planning> {
  const plannedFor = turn?.planned?.messages ?? 0;
  if (turn?.planned) onApproved(turn.planned.files);
  const continued = plannedFor === 0 ? await readContinued(asked, journal) : undefined;
  return createPlanning({
    asked,
    // Who continues an approved task approves no other.
    plannedFor: continued === "approved" ? 1 : plannedFor,
    always: always || continued === "planned",
    onApproved,
  });
}

/** What was said of a plan in the paused task that "continue" goes on with. */
async function readContinued(
  asked: readonly UserMessage[],
  journal: JournalReader,
): Promise<"planned" | "approved" | undefined> {
  const [first] = asked;
  if (!first || !isContinueCommand(first.text)) return undefined;
  let hasTask = false;
  for await (const { records } of journal.backward()) {
    for (const record of records.toReversed()) {
      if (record.type === "tool-result" && isApprovedPlan(record.message)) return "approved";
      // What was said behind the order to plan, as the turn ran, has not taken it back.
      if (record.type === "turn-start" && hasTask) return undefined;
      if (record.type !== "user" || !isFromPerson(record.message)) continue;
      if (isContinueCommand(record.message.text)) continue;
      if (record.message.plan) return "planned";
      hasTask = true;
    }
  }
  return undefined;
}
