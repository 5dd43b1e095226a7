import type { types } from "@slack/bolt";
import { cutText } from "../../../agent/text/text.ts";
import { describeEarlier, describeNotRun, quoteOutput } from "../../../chat/call-text.ts";
import { cutMarkdown, splitMarkdown } from "../../../chat/markdown.ts";
import type { CallList, OutboundMessage, ShownCall } from "../../../chat/outbound.ts";
import { toPlainOutput } from "../../../chat/terminal-text.ts";
import { buttonRow, feedbackRow } from "./buttons.ts";
import type { Feature, Features } from "./features.ts";
import { toPlainText } from "./plain-text.ts";
import { splitTables } from "./tables.ts";

/**
 * Characters of one message. A message takes 12,000 in markdown blocks and about 13,200 in all blocks; the
 * rest is for the footer.
 * https://docs.slack.dev/reference/block-kit/blocks/markdown-block
 */
export const messageChars = 11_500;
const footerChars = 1_000;
const cardChars = 150;
/** Of a result in its card; it is not documented how much Slack takes. */
const outputChars = 250;
/** What remains for the text above and below the cards. */
const besideChars = 3_000;
/** https://docs.slack.dev/reference/block-kit/blocks/section-block */
const sectionChars = 3_000;
/** From about 4,000 characters on Slack may find a text too long; it documents 40,000 (seratch/ChatGPT-in-Slack#102). */
const shortChars = 3_000;
const maxMentions = 20;
/** Notifications show the first lines only. */
const fallbackChars = 3_000;

type HasFeature = Pick<Features, "has">;

/** A message as `chat.postMessage` and `chat.update` take it. */
export interface Layout {
  /** The fallback for notifications and screen readers; what shows where there are no blocks. */
  text: string;
  blocks: types.KnownBlock[];
  /** What it has that not every workspace takes. */
  needs?: readonly Feature[];
}

/** The same message from the best layout to the plainest, which Slack takes whatever is in the text. */
export type RenderedMessage = readonly [Layout, ...Layout[]];

/** An answer of more than three messages is better read in a file. */
export const maxAnswerChars = 3 * messageChars;

/** The texts of the messages that show it, for `renderPart`. */
export function splitMessage(message: OutboundMessage): [string, ...string[]] {
  return splitMarkdown(escapeMentions(message.markdown), messageChars);
}

/**
 * The message that shows a piece of it; the footer and the buttons belong to the last one. `beginning`: the rest is in a
 * file.
 */
export function renderPart(
  message: OutboundMessage,
  text: string,
  place: "beginning" | "middle" | "end",
  features: HasFeature,
): RenderedMessage {
  const beside = place === "middle" ? {} : message;
  const called = place === "end" ? mentionPeople(message) : "";
  return render(text, beside, features, { called, hasTables: message.kind === "answer" });
}

/** The one message that shows it, cut if it is too long. */
export function renderOne(message: OutboundMessage, features: HasFeature): RenderedMessage {
  const text = escapeMentions(message.markdown);
  const [plainest] = render(cutMarkdown(text, shortChars), message, features).slice(-1);
  const { calls } = message;
  const isAnswer = message.kind === "answer";
  const beside = { hasTables: isAnswer, ...(isAnswer && calls?.items.length && { calls }) };
  const whole = render(cutMarkdown(text, messageChars), message, features, beside);
  // An answer is posted in parts rather than cut.
  const mayBeCut = !isAnswer || text.length <= shortChars;
  const plainer: RenderedMessage = plainest && mayBeCut ? [...whole, plainest] : whole;
  if (isAnswer || !calls?.items.length || !features.has("cards")) return plainer;
  // Notifications and screen readers get the list.
  const [{ text: list }] = plainer;
  const piece = (markdown: string) => markdownBlocks(cutMarkdown(escapeMentions(markdown), besideChars));
  const blocks = [
    ...piece(joinParagraphs(calls.above, describeEarlier(calls.earlier ?? 0))),
    planBlock(calls),
    ...piece(joinParagraphs(quoteOutput(calls.items), calls.below)),
    ...footerBlocks(message),
    ...buttonRow(message),
  ];
  return [{ text: list, blocks, needs: ["cards"] }, ...plainer];
}

function joinParagraphs(...parts: string[]): string {
  return parts.filter(Boolean).join("\n\n");
}

/**
 * Calls as cards under a title. Slack shows them folded, each with its result behind it. Titles take up to 12 times
 * 150 characters of what a message holds, results 12 times 250.
 * https://docs.slack.dev/reference/block-kit/blocks/plan-block
 */
function planBlock({ title, items }: CallList): types.PlanBlock {
  return {
    type: "plan",
    title,
    tasks: items.map((item) => ({
      type: "task_card",
      task_id: item.id,
      title: nameTask(item),
      status: cardStatus[item.state],
      ...toOutput(item),
    })),
  };
}

/** The cards as the tasks of a message that grows, whose texts hold 256 characters; each id stands for one card. */
export function toTasks({ items }: CallList): types.TaskUpdateChunk[] {
  return items.map((item) => {
    const text = escapeMentions(cutText(describeOutput(item), outputChars)).slice(0, taskChars);
    return {
      type: "task_update",
      id: item.id,
      title: nameTask(item),
      status: cardStatus[item.state],
      ...(text !== "" && isOver(item) && { output: text }),
    };
  });
}

/** Seen in the field, not documented: https://github.com/NousResearch/hermes-agent/issues/59010 */
const taskChars = 256;

function isOver({ state }: ShownCall): boolean {
  return state !== "running" && state !== "pending";
}

function nameTask(item: ShownCall): string {
  return escapeMentions(item.title ?? nameCard(item))
    .trim()
    .slice(0, cardChars);
}

function nameCard({ name, about, notRun }: ShownCall): string {
  return [`${name} ${about}`.trim(), notRun && describeNotRun(notRun)].filter(Boolean).join(" · ");
}

/** Behind a title of the model's own stands the call itself. */
function describeOutput(item: ShownCall): string {
  const lines = [...(item.title === undefined ? [] : [nameCard(item)]), toPlainOutput(item.result ?? "")];
  return lines.filter(Boolean).join("\n");
}

function toOutput(item: ShownCall): { output?: types.RichTextBlock } {
  const text = describeOutput(item);
  return text === "" ? {} : { output: outputBlock(text) };
}

const cardStatus = {
  ...{ pending: "pending", running: "in_progress", ok: "complete", partial: "complete" },
  ...{ error: "error", stopped: "error", unknown: "error" },
} as const satisfies Record<ShownCall["state"], types.TaskCardBlock["status"]>;

function outputBlock(result: string): types.RichTextBlock {
  const text = {
    type: "text" as const,
    text: escapeMentions(cutText(result, outputChars)),
    style: { code: true },
  };
  return { type: "rich_text", elements: [{ type: "rich_text_section", elements: [text] }] };
}

/** A markdown block must not be empty. */
function markdownBlocks(text: string): types.KnownBlock[] {
  return text.trim() === "" ? [] : [{ type: "markdown", text }];
}

/** Text in Slack's own markup, in as many blocks as it takes, each whole by itself. */
function sectionBlocks(text: string): types.SectionBlock[] {
  if (text === "") return [];
  return splitMarkdown(text, sectionChars).map((part) => ({ type: "section", text: toMrkdwn(part) }));
}

/** What stands under an answer that has grown to its end. */
export function renderUnder(message: OutboundMessage, features: HasFeature): types.KnownBlock[] {
  const rating = features.has("feedback") ? feedbackRow(message) : [];
  return [...footerBlocks(message), ...(rating.length > 0 ? rating : buttonRow(message))];
}

/** As plain text: Slack's own markup would take the underscores of names for marks of emphasis. */
function footerBlocks({ footer = "" }: Pick<OutboundMessage, "footer">): types.KnownBlock[] {
  const text = cutText(footer, footerChars);
  return text === "" ? [] : [{ type: "context", elements: [{ type: "plain_text", text }] }];
}

function smallPrint({ footer = "" }: Pick<OutboundMessage, "footer">): string {
  return escapeText(escapeMentions(footer)).slice(0, footerChars);
}

/** A line that calls people, in Slack's own markup; empty without any. */
function mentionPeople({ kind, mentions = [] }: OutboundMessage): string {
  const people = mentions.filter((id) => /^[UW][A-Z0-9]{1,20}$/.test(id)).slice(0, maxMentions);
  const called = people.map((id) => `<@${id}>`).join(" ");
  return called !== "" && kind === "question" ? `${called}, please decide.` : called;
}

interface RenderOptions {
  /** See `mentionPeople`. */
  called?: string;
  /** Calls that stand folded above the text. */
  calls?: CallList;
  /** Whether tables are shown as Slack's own. */
  hasTables?: boolean;
}

function render(
  markdown: string,
  message: Pick<OutboundMessage, "footer" | "stoppable" | "actions">,
  features: HasFeature,
  { called = "", calls, hasTables = false }: RenderOptions = {},
): RenderedMessage {
  const text = markdown.trim() === "" ? "…" : markdown;
  const small = smallPrint(message);
  const buttons = buttonRow(message);
  const rating = feedbackRow(message);
  const tables = hasTables && features.has("tables") ? splitTables(text) : undefined;
  const escaped = escapeText(text);
  const words = cutText(escapeText(escapeMentions(toPlainText(text))), fallbackChars);
  const short = [called, words].filter(Boolean).join("\n");
  const plan = calls ? [planBlock(calls)] : [];
  const wanted: Feature[] = [
    ...(calls ? ["cards" as const] : []),
    ...(tables ? ["tables" as const] : []),
    ...(rating.length > 0 ? ["feedback" as const] : []),
  ];
  const beside = [...sectionBlocks(called), ...footerBlocks(message)];
  const layOut = (needs: readonly Feature[]): Layout => ({
    text: short,
    blocks: [
      ...(needs.includes("cards") ? plan : []),
      ...(needs.includes("tables") && tables ? tables.flatMap(toBlocks) : markdownBlocks(text)),
      ...beside,
      ...(needs.includes("feedback") ? rating : buttons),
    ],
    needs,
  });
  const plainest: Layout = {
    text: [called, escaped, small].filter(Boolean).join("\n"),
    // The text shows only where there are no blocks, and there are no buttons without.
    blocks: buttons.length > 0 ? [...sectionBlocks(escaped), ...beside, ...buttons] : [],
  };
  const [best, ...others] = listChoices(wanted.filter((feature) => features.has(feature)));
  return [layOut(best), ...others.map(layOut), plainest];
}

/** All of it, then without each of it, since Slack does not say which it lacks, and then nothing. */
function listChoices(wanted: readonly Feature[]): [Feature[], ...Feature[][]] {
  const without = wanted.map((one) => wanted.filter((other) => other !== one));
  if (wanted.length < 2) return [[...wanted], ...without];
  return [[...wanted], ...without, []];
}

function toBlocks(part: string | types.DataTableBlock): types.KnownBlock[] {
  return typeof part === "string" ? markdownBlocks(part) : [part];
}

/**
 * The text with every mention, channel link and Slack command made inert by a zero-width space, also where it is
 * written as an entity. What a model writes must never notify people; in code, where this can be, it stays readable.
 */
export function escapeMentions(text: string): string {
  return text.replaceAll(
    /(?:<|&lt;?|&#0*60;?|&#x0*3c;?)(?=@[A-Z0-9]|#[A-Z0-9]|!(?:channel|here|everyone|group|subteam|date)\b)/gi,
    "$&\u200B",
  );
}

/** Text in Slack's own markup, in which Slack looks for no names: "@here" stays a word. */
export function toMrkdwn(text: string): types.MrkdwnElement {
  return { type: "mrkdwn", text, verbatim: true };
}

/** For text that Slack reads as its own markup. */
export function escapeText(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
