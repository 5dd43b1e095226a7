import type { AgentEvent, TurnOutcome } from "../agent/events.ts";
import type { ToolCall, ToolMessage } from "../agent/messages.ts";
import type { Usage } from "../agent/model.ts";
import { cutText } from "../agent/well-formed.ts";
import type { ActionButton, OutboundMessage } from "../chat/outbound.ts";
import { ratingActionId } from "../queue/budgets/ratings.ts";
import { continueActionId, type PausedTurn } from "../queue/session/paused-turn.ts";
import type { Receipt } from "../queue/turns/contracts.ts";

/** Describes calls, figures and outcomes in words that are the same on every platform. */

const shownCharacters = 120;

/** One line about a tool call: its name and its primary argument. */
export function describeCall(call: ToolCall): string {
  return `\`${call.name}\` ${toInlineCode(primaryArgument(call))}`;
}

/** The argument that says most about a call, on one line; empty when it has none. */
export function primaryArgument(call: ToolCall): string {
  const input = (call.input ?? {}) as Record<string, unknown>;
  const argument = ["command", "path", "query", "pattern", "name", "task", "question", "content", "id"]
    .map((key) => input[key])
    .find((value) => typeof value === "string");
  const text =
    typeof argument === "string"
      ? argument
      : call.malformed
        ? "(unreadable arguments)"
        : JSON.stringify(input);
  return text === "{}" ? "" : cutText(takeFirstLine(text), shownCharacters);
}

const shownItems = 20;

/** The todo list as people see it; undefined when this is not the result of `todo`. */
export function renderTodoList({ name, status, text }: ToolMessage): string | undefined {
  if (name !== "todo" || status !== "ok") return undefined;
  const [progress = "", ...items] = text.split("\n");
  const lines = items
    .slice(0, shownItems)
    .map((item) =>
      cutText(item, shownCharacters).replace(/^\[(.)\]/, (_, mark: string) => boxes[mark] ?? "☐"),
    );
  if (items.length > shownItems) lines.push(`… ${items.length - shownItems} more`);
  return [`**Plan** · ${progress}`, ...lines].join("  \n");
}

const boxes: Record<string, string> = { x: "☑", ">": "▸", " ": "☐" };

/** What was done to make room in the context window. */
export function describeCompaction(event: Extract<AgentEvent, { type: "summary" | "trim" }>): string {
  const what =
    event.type === "summary" ? "Older messages were summarised" : "Old tool results were cut short";
  return `${what} (${formatCount(event.before, "token")} to ${formatCount(event.after, "token")}).`;
}

function toInlineCode(text: string): string {
  if (text === "") return "";
  // A fence longer than any run of backticks inside keeps the text in one span.
  const fence = "`".repeat(Math.max(0, ...(text.match(/`+/g) ?? []).map((run) => run.length)) + 1);
  return fence.length > 1 ? `${fence} ${text} ${fence}` : `\`${text}\``;
}

function takeFirstLine(text: string): string {
  const [first = "", ...rest] = text.trim().split("\n");
  return rest.length > 0 ? `${first} …` : first;
}

export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return joinUnits(`${minutes} min`, seconds % 60, "s");
  return joinUnits(`${Math.floor(minutes / 60)} h`, minutes % 60, "min");
}

function joinUnits(greater: string, rest: number, unit: string): string {
  return rest === 0 ? greater : `${greater} ${rest} ${unit}`;
}

export function formatCount(n: number, one: string, many = `${one}s`): string {
  return `${n.toLocaleString("en-US")} ${n === 1 ? one : many}`;
}

function renderCost(usage: Usage): string[] {
  const tokens = usage.input + usage.output + usage.cacheRead + usage.cacheWrite;
  const parts = tokens > 0 ? [formatCount(tokens, "token")] : [];
  const dollars = `$${usage.cost.toFixed(usage.cost < 0.1 ? 4 : 2)}`;
  return usage.cost > 0 ? [...parts, usage.priceUnknown ? `at most ${dollars}` : dollars] : parts;
}

function listFiles(what: "changed" | "deleted", paths: readonly string[]): string[] {
  if (paths.length === 0) return [];
  const shown = paths.slice(0, 5).map((path) => cutText(path, 60));
  const more = paths.length > shown.length ? ` and ${paths.length - shown.length} more` : "";
  return [`${paths.length === 1 ? "file" : "files"} ${what}: ${shown.join(", ")}${more}`];
}

/**
 * Renders the last messages of a turn: the answer, or what ended it, with the receipt as small print. For a paused turn
 * also the offer to continue it, as a message of its own, so that it can be edited once somebody has.
 *
 * @param options.asksRating whether people can rate an answer
 */
export function renderClosing(
  turn: string,
  receipt: Receipt,
  options: { asksRating?: boolean } = {},
): [OutboundMessage, offer?: OutboundMessage] {
  const { outcome } = receipt;
  const closing = renderOutcome(turn, receipt, options);
  if (outcome.kind !== "step-limit" && outcome.kind !== "budget") return [closing];
  const offer = renderPaused({ turn, outcome });
  // A turn that was paused before its first step has said nothing.
  return outcome.steps > 0 ? [closing, offer] : [{ ...closing, ...offer }];
}

function renderOutcome(
  turn: string,
  receipt: Receipt,
  { asksRating = false }: { asksRating?: boolean },
): OutboundMessage {
  const { outcome } = receipt;
  const figures = [
    ...(outcome.steps > 0 ? [formatCount(outcome.steps, "step")] : []),
    ...(receipt.durationMs > 0 ? [formatDuration(receipt.durationMs)] : []),
    ...renderCost(outcome.usage),
    ...listFiles("changed", receipt.files.changed),
    ...listFiles("deleted", receipt.files.deleted),
  ].join(" · ");
  const small = figures ? { footer: figures } : {};
  switch (outcome.kind) {
    case "answered":
      return {
        kind: "answer",
        markdown: outcome.text,
        ...small,
        ...(asksRating && { actions: ratingButtons(turn) }),
      };
    case "stopped":
      return { kind: "receipt", markdown: renderStop(receipt, outcome.order.by), ...small };
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

function ratingButtons(turn: string): ActionButton[] {
  return [
    { id: ratingActionId(turn, "liked"), label: "👍", style: "plain" },
    { id: ratingActionId(turn, "disliked"), label: "👎", style: "plain" },
  ];
}

/** Says which limit has paused a turn, with the Continue button; or, without it, who has continued the turn. */
export function renderPaused(
  { turn, outcome: { limit, usedUp } }: PausedTurn,
  continuedBy?: string,
): OutboundMessage {
  const why = usedUp
    ? `**Paused: the budget of ${limit} is used up, or too small for the next step.**`
    : `**Paused at the limit of ${limit} for one turn.**`;
  if (continuedBy !== undefined) return { kind: "notice", markdown: `${why} ▶️ Continued by ${continuedBy}.` };
  const how = usedUp
    ? `It resets at ${usedUp.resets}; write “continue” then. Before that, an administrator can add ${usedUp.extension} for today: with the Continue button, or by writing “continue”.`
    : "Press Continue or write “continue”, and I'll continue from here.";
  const actions: ActionButton[] = [{ id: continueActionId(turn), label: "Continue", style: "primary" }];
  return { kind: "notice", markdown: `${why} ${how}`, actions };
}

function renderStop(receipt: Receipt, by: string): string {
  const { killed, stopMs, cutOff = 0, silent = 0, withdrawn, outcome } = receipt;
  const sentences = [
    `🛑 **Stopped by ${by}**${stopMs === undefined ? "." : ` in ${formatDuration(stopMs)}.`}`,
  ];
  if (cutOff > 0)
    sentences.push(
      `${formatCount(cutOff, "tool call")} had ended with the worker that ran ${cutOff === 1 ? "it" : "them"}: the outcome is unknown.`,
    );
  if (killed) {
    if (killed.commands > 0)
      sentences.push(
        `${formatCount(killed.commands, "command")} ended (${formatCount(killed.processes, "process", "processes")}), ${killed.survivors} left alive.`,
      );
    else if (cutOff === 0) sentences.push("No command was running.");
    if (killed.survivors > 0)
      sentences.push("Some processes could not be ended: an administrator must look at the host.");
  }
  if (silent > 0)
    sentences.push(
      `${formatCount(silent, "other worker")} with background jobs of this thread did not answer: the jobs have ended with it, or end when it is reached.`,
    );
  if (withdrawn.length > 0) sentences.push(`${formatCount(withdrawn.length, "waiting message")} dropped.`);
  // Without a turn nobody has checked the files.
  if (killed && outcome.steps > 0)
    sentences.push(
      receipt.files.changed.length > 0 ? "What was written so far is kept." : "No files were written.",
    );
  return sentences.join(" ");
}

/** Renders the headline of a finished progress message. */
export function renderHeadline(outcome: TurnOutcome): string {
  switch (outcome.kind) {
    case "answered":
      return "✅ **Done**";
    case "stopped":
      return `🛑 **Stopped** by ${outcome.order.by}`;
    case "step-limit":
    case "budget":
      return "⏸️ **Paused**";
    case "refused":
    case "model-error":
      return "⚠️ **Ended**";
    case "waiting":
      return "⏸️ **Waiting for your decision**";
    case "suspended":
    case "lost-lease":
      return "⏳ **Interrupted**";
  }
}
