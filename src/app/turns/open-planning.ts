import type { OpenTurn } from "../../agent/journal/history.ts";
import type { JournalReader, JournalRecord } from "../../agent/journal/journal.ts";
import { isFromPerson, toolCalls, type UserMessage } from "../../agent/messages.ts";
import {
  createPlanning,
  isApprovedPlan,
  listPlannedFiles,
  type Planning,
  type PlanningOptions,
} from "../../agent/planning.ts";
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
  if (continued?.kind === "approved") onApproved(continued.files);
  return createPlanning({
    asked,
    // Who continues an approved task approves no other.
    plannedFor: continued?.kind === "approved" ? 1 : plannedFor,
    always: always || continued?.kind === "planned",
    onApproved,
  });
}

type Continued = { kind: "planned" } | { kind: "approved"; files: string[] };

/** What was said of a plan in the paused task that "continue" goes on with. */
async function readContinued(
  asked: readonly UserMessage[],
  journal: JournalReader,
): Promise<Continued | undefined> {
  const [first] = asked;
  if (!first || !isContinueCommand(first.text)) return undefined;
  const records = readBackward(journal);
  let hasTask = false;
  for await (const record of records) {
    if (record.type === "tool-result" && isApprovedPlan(record.message))
      return { kind: "approved", files: await readFiles(records, record.message.callId) };
    // What was said behind the order to plan, as the turn ran, has not taken it back.
    if (record.type === "turn-start" && hasTask) return undefined;
    if (record.type !== "user" || !isFromPerson(record.message)) continue;
    if (isContinueCommand(record.message.text)) continue;
    if (record.message.plan) return { kind: "planned" };
    hasTask = true;
  }
  return undefined;
}

/** The newest first. */
async function* readBackward(journal: JournalReader): AsyncGenerator<JournalRecord> {
  for await (const { records } of journal.backward()) yield* records.toReversed();
}

/** The files that the plan names which that call has put to people, among the records before its result. */
async function readFiles(records: AsyncIterable<JournalRecord>, callId: string): Promise<string[]> {
  for await (const record of records) {
    if (record.type !== "assistant") continue;
    const call = toolCalls(record.message).find(({ id }) => id === callId);
    if (call) return listPlannedFiles(call.input);
  }
  return [];
}
