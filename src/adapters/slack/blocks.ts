import type { types } from "@slack/bolt";
import { cutMarkdown, splitMarkdown } from "../../progress/markdown.ts";
import type { OutboundMessage, TaskCards } from "../adapter.ts";
import { buttonRow } from "./buttons.ts";

/**
 * Characters of one message. A message takes 12,000 in markdown blocks and about 13,200 in all blocks; the
 * rest is for the footer.
 * https://docs.slack.dev/reference/block-kit/blocks/markdown-block
 */
export const messageChars = 11_500;
const footerChars = 1_000;
const cardChars = 150;
/** What remains for the text beside cards. */
const cardsChars = 8_000;
/** Notifications show the first lines only. */
const fallbackChars = 3_000;

/** A message as `chat.postMessage` and `chat.update` take it. */
export interface Layout {
  /** The fallback for notifications and screen readers; what shows where there are no blocks. */
  text: string;
  blocks: types.KnownBlock[];
  /** Not every workspace has task cards. */
  hasCards?: true;
}

/** The same message from the best layout to the plainest, which Slack takes whatever is in the text. */
export type RenderedMessage = readonly [Layout, ...Layout[]];

/** More messages than this are a flood: the rest is better read in a file. */
const mostParts = 3;

/** The messages that show it; the footer and the buttons belong to the last one. */
export function renderParts(message: OutboundMessage): RenderedMessage[] {
  const parts = splitMarkdown(inert(message.markdown), messageChars);
  return parts.map((part, index) => render(part, index === parts.length - 1 ? message : {}));
}

/** The beginning of an answer that is so long that it belongs into a file; undefined for others. */
export function renderBeginning(message: OutboundMessage): RenderedMessage | undefined {
  if (message.markdown.length <= mostParts * messageChars) return undefined;
  const [beginning] = splitMarkdown(inert(message.markdown), messageChars);
  return render(beginning, message);
}

/** The one message that shows it, cut if it is too long. @param withCards whether tasks may be cards */
export function renderOne(message: OutboundMessage, withCards: boolean): RenderedMessage {
  const plainer = render(cutMarkdown(inert(message.markdown), messageChars), message);
  const { cards } = message;
  if (!cards || !withCards) return plainer;
  // Notifications and screen readers get the list.
  const [{ text }] = plainer;
  const [{ blocks }] = render(cutMarkdown(inert(cards.markdown), cardsChars), message);
  const [first, ...others] = blocks;
  return [
    { text, blocks: [...(first ? [first] : []), planBlock(cards), ...others], hasCards: true },
    ...plainer,
  ];
}

/** Tasks as cards under a title. Titles take up to 12 times 150 characters of what a message holds. */
function planBlock({ title, tasks }: TaskCards): types.PlanBlock {
  return {
    type: "plan",
    title,
    tasks: tasks.map(({ id, title: task, state }) => ({
      type: "task_card",
      task_id: id,
      title: inert(task).slice(0, cardChars),
      status: cardStatus[state],
    })),
  };
}

const cardStatus = { running: "in_progress", done: "complete", failed: "error" } as const;

function render(
  markdown: string,
  message: Pick<OutboundMessage, "footer" | "stoppable" | "actions">,
): RenderedMessage {
  // A markdown block must not be empty.
  const text = markdown.trim() === "" ? "…" : markdown;
  const blocks: types.KnownBlock[] = [{ type: "markdown", text }];
  const small = message.footer && escape(inert(message.footer)).slice(0, footerChars);
  if (small) blocks.push({ type: "context", elements: [{ type: "mrkdwn", text: small }] });
  const buttons = buttonRow(message);
  blocks.push(...buttons);
  const short = escape(text).slice(0, fallbackChars);
  const section: types.SectionBlock = { type: "section", text: { type: "mrkdwn", text: short } };
  const plainest: Layout = {
    text: small ? `${escape(text)}\n${small}` : escape(text),
    // The text shows only where there are no blocks, and there are no buttons without.
    blocks: buttons.length > 0 ? [section, ...buttons] : [],
  };
  return [{ text: short, blocks }, plainest];
}

/**
 * The text with every mention, channel link and Slack command made inert by a zero-width space. What a model
 * writes must never notify people; in code, where this can be, it stays readable.
 */
export function inert(text: string): string {
  return text.replaceAll(
    /<(?=@[A-Z0-9]|#[A-Z0-9]|!(?:channel|here|everyone|group|subteam|date)\b)/gi,
    "<\u200B",
  );
}

/** For text that Slack reads as its own markup. */
export function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
