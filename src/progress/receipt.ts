import { escapeMarkdown } from "../chat/escape-markdown.ts";
import type { ActionButton, OutboundMessage } from "../chat/outbound.ts";
import { ratingActionId } from "../queue/budgets/ratings.ts";
import { continueActionId, type PausedTurn } from "../queue/session/continue-offer.ts";
import type { Unproven } from "../queue/turns/lost-holders.ts";
import type { Receipt } from "../queue/turns/contracts.ts";
import { formatCount, formatDuration, listFiles, renderCost } from "./describe.ts";
import { undoActionId } from "../queue/undo/messages.ts";
import { toInlineCode } from "../chat/visible-call.ts";

export interface ClosingOptions {
  /** Whether people can rate an answer. Default: no. */
  asksRating?: boolean;
  /** Whether what changed files can be undone by a button. Default: no. */
  offersUndo?: boolean;
}

/**
 * Renders the last messages of a turn: the answer, or what ended it, with the receipt as small print. For a paused turn
 * also the offer to continue it, as a message of its own, so that it can be edited once somebody has; where the turn
 * has said nothing, the offer alone.
 */
export function renderClosing(
  turn: string,
  receipt: Receipt,
  options: ClosingOptions = {},
): [OutboundMessage, offer?: OutboundMessage] {
  const { outcome } = receipt;
  const closing = renderOutcome(turn, receipt, options);
  if (outcome.kind !== "step-limit" && outcome.kind !== "budget") return [closing];
  const offer = renderPaused({ turn, outcome });
  return outcome.text ? [closing, offer] : [{ ...closing, ...offer }];
}

function renderOutcome(turn: string, receipt: Receipt, options: ClosingOptions): OutboundMessage {
  const { outcome } = receipt;
  const figures = [
    ...(outcome.steps > 0 ? [formatCount(outcome.steps, "step")] : []),
    ...(receipt.durationMs > 0 ? [formatDuration(receipt.durationMs)] : []),
    ...renderCost(outcome.usage),
    ...listFiles("changed", receipt.files?.changed ?? []),
    ...listFiles("deleted", receipt.files?.deleted ?? []),
    ...listFiles("beyond the plan", receipt.files?.unplanned ?? []),
  ].join(" · ");
  const small = figures ? { footer: figures } : {};
  const undo = options.offersUndo ? undoButton(turn, receipt) : [];
  switch (outcome.kind) {
    case "answered":
      return {
        kind: "answer",
        markdown: outcome.text,
        ...small,
        ...listActions([...(options.asksRating ? ratingButtons(turn) : []), ...undo]),
      };
    case "stopped":
      return {
        kind: "receipt",
        markdown: renderStop(receipt, outcome.order.by),
        ...small,
        ...listActions(undo),
      };
    case "step-limit":
    case "budget":
      return { kind: "answer", markdown: outcome.text, ...small };
    case "refused":
      return { kind: "answer", markdown: `${outcome.text}\n\n⚠️ ${leftOut}`, ...small };
    case "model-error":
      return { kind: "notice", markdown: `⚠️ ${outcome.text}`, ...small };
    case "waiting":
    case "suspended":
    case "lost-lease":
      throw new Error(`A turn that is ${outcome.kind} has no last message.`);
  }
}

const leftOut =
  "The model will not see this request again, so that it can read the rest of the thread: ask in other words. If other requests are refused too, begin a new thread.";

function listActions(actions: ActionButton[]): Pick<OutboundMessage, "actions"> {
  return actions.length > 0 ? { actions } : {};
}

/** It shows first what would change. Where files have changed: whoever wants back what only was said writes `undo`. */
function undoButton(turn: string, { files }: Receipt): ActionButton[] {
  const isChanged = (files?.changed.length ?? 0) + (files?.deleted.length ?? 0) > 0;
  return isChanged ? [{ id: undoActionId(turn, "ask"), label: "Undo…", style: "plain" }] : [];
}

function ratingButtons(turn: string): ActionButton[] {
  return [
    { id: ratingActionId(turn, "liked"), label: "👍", style: "plain", rates: "good" },
    { id: ratingActionId(turn, "disliked"), label: "👎", style: "plain", rates: "bad" },
  ];
}

/** Says which limit has paused a turn, with the Continue button; or, without it, who has continued the turn. */
export function renderPaused(
  { turn, outcome: { limit, usedUp } }: PausedTurn,
  continuedBy?: string,
): OutboundMessage {
  const why = usedUp
    ? `**Paused: the budget of ${limit} does not cover the next step.**`
    : `**Paused at the limit of ${limit} for one turn.**`;
  if (continuedBy !== undefined)
    return { kind: "notice", markdown: `${why} ▶️ Continued by ${escapeMarkdown(continuedBy)}.` };
  const how = usedUp
    ? `It resets at ${usedUp.resets}: write “continue” then. An administrator can press Continue now, which adds ${usedUp.extension} for today.`
    : "Press Continue or write “continue”, and I'll continue from here.";
  const actions: ActionButton[] = [{ id: continueActionId(turn), label: "Continue", style: "primary" }];
  return { kind: "notice", markdown: `${why} ${how}`, actions };
}

/** What nobody has seen to end is never counted with what has. */
function renderUnproven({ where, commands, endsInMs }: Unproven): string {
  const what = commands.map(toInlineCode).join(", ");
  const end =
    endsInMs === undefined
      ? ""
      : ` It ends by itself within ${formatDuration(endsInMs)}; I'll say so here then.`;
  return `⚠️ ${formatCount(commands.length, "command")} on ${where}, which does not answer: not known to have ended (${what}).${end}`;
}

function renderStop(receipt: Receipt, by: string): string {
  const { killed, stopMs, cutOff = 0, unproven = [], withdrawn, outcome } = receipt;
  const sentences = [
    `🛑 **Stopped by ${escapeMarkdown(by)}**${stopMs === undefined ? "." : ` in ${formatDuration(stopMs)}.`}`,
  ];
  if (cutOff > 0)
    sentences.push(
      `${formatCount(cutOff, "tool call")} had ended with the worker that ran ${cutOff === 1 ? "it" : "them"}: the outcome is unknown.`,
    );
  sentences.push(...renderKilled(receipt));
  sentences.push(...unproven.map(renderUnproven));
  if (withdrawn.length > 0) sentences.push(`${formatCount(withdrawn.length, "waiting message")} dropped.`);
  // Without a turn nobody has checked the files.
  if (killed && outcome.steps > 0)
    sentences.push(
      receipt.files?.changed.length === 0 ? "No files were written." : "What was written so far is kept.",
    );
  return sentences.join(" ");
}

/** What was seen to end, and what was seen not to. */
function renderKilled({ killed, cutOff = 0, unproven = [] }: Receipt): string[] {
  if (!killed) return [];
  const { commands, processes, survivors } = killed;
  const sentences: string[] = [];
  if (commands > 0)
    sentences.push(
      `${formatCount(commands, "command")} ended (${formatCount(processes, "process", "processes")}), ${survivors} left alive.`,
    );
  else if (cutOff === 0 && unproven.length === 0) sentences.push("No command was running.");
  if (survivors > 0)
    sentences.push("Some processes could not be ended: an administrator must look at the host.");
  return sentences;
}
