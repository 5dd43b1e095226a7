import { z } from "zod";
import type { OutboundMessage } from "../../chat/outbound.ts";
import { escapeMarkdown } from "../../chat/escape-markdown.ts";
import { cutText, cutWords } from "../../agent/text/text.ts";
import type { UserMessage } from "../../agent/messages.ts";
import type { FileDifference } from "../../sandbox/checkpoints.ts";
import type { PastTurn } from "./find-turns.ts";
import { listRemainingEffects } from "./remaining-effects.ts";
import type { UndoOrder, UndoPlan } from "./stored.ts";

const prefix = "undo:";
/**
 * What the buttons of an answer, of a preview, and of what came of it do; that of an answer, `ask`, has the turn's id and
 * the others that of the order.
 */
const undoButtonSchema = z.enum(["ask", "undo", "dismiss", "redo"]);
type UndoButton = z.infer<typeof undoButtonSchema>;

export function undoActionId(id: string, button: UndoButton): string {
  return `${prefix}${button}:${id}`;
}

/** What such a button is about; undefined for another button. */
export function readUndoAction(action: string): { id: string; button: UndoButton } | undefined {
  const [, given, id] = /^undo:(\w+):(.+)$/.exec(action) ?? [];
  const { data: button } = undoButtonSchema.safeParse(given);
  return id === undefined || button === undefined ? undefined : { id, button };
}

const shownFiles = 8;
const pathChars = 80;
const aboutChars = 80;

/** The first words of what a turn began with. */
export function describeTurn({ asked }: Pick<PastTurn, "asked">): string {
  const [first] = asked;
  return first ? cutWords(firstLine(first), aboutChars) : "a turn of its own accord";
}

function firstLine({ text, enclosed }: UserMessage): string {
  const words = text.replaceAll(/\s+/g, " ").trim();
  return words || (enclosed?.files?.map(({ name }) => name).join(", ") ?? "") || "(no text)";
}

/** What an undo would change, with the buttons that do it or leave it. */
export function renderPreview(
  { id }: Pick<UndoOrder, "id">,
  turns: readonly PastTurn[],
  {
    difference,
    isKept,
    waiting,
  }: { difference: FileDifference | undefined; isKept: boolean; waiting: number },
): OutboundMessage {
  const [newest] = turns;
  const title =
    turns.length === 1 && newest
      ? `**Undo the last turn?** ${quote(describeTurn(newest))}`
      : `**Undo the last ${turns.length} turns?**`;
  const list = turns.length > 1 ? turns.toReversed().map((turn) => `- ${quote(describeTurn(turn))}`) : [];
  const remaining = listRemainingEffects(turns);
  const lines = [
    `- **Files**: ${describeDifference(difference)}`,
    `- **Conversation**: I forget ${count(turns.length, "turn; its", "turns; their")} messages stay here for you to read.`,
    remaining.length > 0
      ? `- **Not undone**: ${remaining.join(", ")}; what was used of a budget.`
      : "- **Not undone**: what was used of a budget.",
    isKept
      ? "- Until the next message you can take the undo back."
      : "- **This cannot be taken back**: there is too much in the workspace to keep it as it is.",
    ...(waiting > 0
      ? [`- ${count(waiting, "message waits", "messages wait")}, and I work on it afterwards.`]
      : []),
  ];
  return {
    kind: "notice",
    markdown: [title, list.join("\n"), lines.join("\n")].filter(Boolean).join("\n\n"),
    actions: [
      { id: undoActionId(id, "undo"), label: "Undo", style: "danger" },
      { id: undoActionId(id, "dismiss"), label: "Leave it as it is", style: "plain" },
    ],
  };
}

export function renderUndone(
  { id, by }: UndoOrder,
  plan: UndoPlan,
  difference: FileDifference | undefined,
): OutboundMessage {
  const what = plan.turns.length === 1 ? quote(plan.about) : `the last ${plan.turns.length} turns`;
  return {
    kind: "notice",
    markdown: `↩️ **Undone** by ${escapeMarkdown(by.name)}: ${what}. Files: ${describeDifference(difference, "were")} The conversation goes on from before ${plan.turns.length === 1 ? "it" : "them"}.`,
    actions: [{ id: undoActionId(id, "redo"), label: "Take the undo back", style: "plain" }],
  };
}

export function renderRedone({ by }: UndoOrder): OutboundMessage {
  return {
    kind: "notice",
    markdown: `↪️ ${escapeMarkdown(by.name)} took the undo back: files and conversation are as they were before it.`,
  };
}

function describeDifference(difference: FileDifference | undefined, verb: "are" | "were" = "are"): string {
  if (!difference) return "none of them changed.";
  const { restored, removed, bytes } = difference;
  if (restored.length + removed.length === 0) return "none of them changed.";
  const [reverts, revert, is] =
    verb === "are" ? ["reverts", "revert", "is"] : ["reverted", "reverted", "was"];
  const parts = [
    restored.length > 0 &&
      `${count(restored.length, `file ${reverts} to its`, `files ${revert} to their`)} earlier content (${listPaths(restored)}; ${formatBytes(bytes)})`,
    removed.length > 0 &&
      `${count(removed.length, `new file ${is}`, `new files ${verb}`)} deleted (${listPaths(removed)})`,
  ];
  return `${parts.filter(Boolean).join(", ")}.`;
}

function listPaths(paths: readonly string[]): string {
  const shown = paths
    .slice(0, shownFiles)
    .map((path) => `\`${cutText(path.replaceAll(/[`\p{C}]/gu, "?"), pathChars)}\``);
  const more = paths.length - shown.length;
  return [...shown, ...(more > 0 ? [`${more} more`] : [])].join(", ");
}

function quote(text: string): string {
  return `“${escapeMarkdown(text)}”`;
}

function count(n: number, one: string, many: string): string {
  return `${n.toLocaleString("en-US")} ${n === 1 ? one : many}`;
}

const units = ["B", "KB", "MB", "GB"] as const;

function formatBytes(bytes: number): string {
  const power = Math.min(units.length - 1, bytes > 0 ? Math.floor(Math.log(bytes) / Math.log(1024)) : 0);
  return `${Math.round((bytes / 1024 ** power) * 10) / 10} ${units[power] ?? "B"}`;
}
