import { escapeMarkdown } from "../chat/escape-markdown.ts";
import type { ToolCall } from "../agent/messages.ts";
import { escapeHiddenAndBlank, removeHidden } from "../agent/text/hidden-characters.ts";
import type { ShownFile } from "../agent/policy-decision.ts";
import { type Decision, describeQuestion, isOnlyRequesters, type Question } from "../agent/questions.ts";
import { inputAnswerSchema } from "../agent/server-input.ts";
import { cutText, parseJson } from "../agent/text/text.ts";
import type { ActionButton, OutboundMessage } from "../chat/outbound.ts";
import { formatDuration } from "./describe.ts";
import { createInputButtons, describeInput } from "./input-question.ts";
import {
  cutMiddle,
  toCodeBlock,
  toInlineCode,
  toVisibleCall,
  type VisibleCall,
} from "../chat/visible-call.ts";

/** Renders the messages that ask people a question and say how it ended. */

/** Where a question is shown. */
export interface QuestionPlace {
  /** What one message takes. */
  messageChars: number;
  /** Ids of those who are to decide. */
  deciders: readonly string[];
  mask(text: string): string;
}

const shownReason = 200;
const namedFiles = 3;
/** Of what is to be read before, on a terminal. */
const shownLines = 200;
/** For the footer, the people who are called, and the words that say how it ended. */
const reservedChars = 550;
/** Of the same, in a message that takes more, as in the console: the file has colours and numbers of lines there. */
const mostToRead = 20_000;
/** Of a call at least, however long the operator's reason is. */
const leastShown = 300;

export function renderQuestion(question: Question, call: ToolCall, place: QuestionPlace): OutboundMessage {
  const { requester, expiresAt, askedAt } = question;
  const { markdown, file } = describeAsked(question, call, place);
  const forThread = describeForThread(question);
  const isTheirs =
    isOnlyRequesters(question) || place.deciders.length === 0 || place.deciders.includes(requester.id);
  const whose = isTheirs ? `For ${requester.name}` : `Task of ${requester.name} · administrators decide`;
  return {
    kind: "question",
    markdown: forThread ? `${markdown}\n${forThread}` : markdown,
    footer: `${whose} · open for ${formatDuration(expiresAt - askedAt)}`,
    stoppable: true,
    actions: createButtons(question),
    ...(place.deciders.length > 0 && { mentions: [...place.deciders] }),
    ...(file && { file }),
  };
}

/** Without a decision, the turn ended before there was one. */
export function renderDecision(
  question: Question,
  call: ToolCall,
  place: QuestionPlace,
  decision?: Decision,
): OutboundMessage {
  const { markdown } = describeAsked(question, call, place);
  const ending = describeOwnEnding(question, decision, place.mask) ?? describeEnding(decision, place.mask);
  return { kind: "question", markdown: `${markdown}\n\n${ending}` };
}

/** What is asked, as lines for a terminal; each line of a call begins with a bar, so that none passes for another. */
export function describeQuestionPlainly(
  question: Question,
  call: ToolCall,
  mask: QuestionPlace["mask"],
): string {
  if (question.kind === "choice") return `❓ ${removeHidden(mask(question.text))}`;
  if (question.kind === "input") return `❓ ${removeHidden(mask(describeQuestion(question)))}`;
  if (question.kind === "account") return `🔑 ${removeHidden(mask(describeQuestion(question)))}`;
  const { text, besides, note } = toVisibleCall(call, mask);
  const lines = [text, ...(besides === undefined ? [] : [`with ${besides}`])].join("\n").split("\n");
  const toRead = question.file
    ? escapeHiddenAndBlank(mask(question.file.text.trimEnd())).text.split("\n")
    : [];
  const omitted = toRead.length - shownLines;
  return [
    `🔐 May I run ${call.name}? ${describeReason(question, (path) => path)}`,
    ...lines.map((line) => `  │ ${line}`),
    ...toRead.slice(0, shownLines).map((line) => `  ┆ ${line}`),
    ...(omitted > 0 ? [`  ┆ … ${omitted} more lines`] : []),
    note,
    describeForThread(question, (rule) => `“${rule}”`),
  ]
    .filter(Boolean)
    .join("\n");
}

/** What an approval for the whole thread is about; empty where there can be none. */
function describeForThread(question: Question, write = toInlineCode): string {
  if (question.kind !== "approval" || !question.rules) return "";
  const named = question.rules.map(({ text }) =>
    write(escapeHiddenAndBlank(text).text.replaceAll("\n", " ")),
  );
  return `Approve for this thread: from now on, ${named.join(" and ")} ${named.length === 1 ? "runs" : "run"} here without asking.`;
}

type Asked = Pick<OutboundMessage, "markdown" | "file">;

/** What is asked, without its buttons. */
function describeAsked(question: Question, call: ToolCall, { mask, messageChars }: QuestionPlace): Asked {
  switch (question.kind) {
    case "choice":
      return showText(`❓ ${removeHidden(mask(question.text))}`, messageChars - reservedChars);
    case "account":
      return { markdown: describeAccount(question) };
    case "input":
      return { markdown: describeInput(question, mask) };
    case "approval": {
      // The reason is the operator's; the call is the model's, and must not look like anything but code.
      const head = `🔐 **May I run ${toInlineCode(call.name)}?** ${describeReason(question)}`;
      const visible = toVisibleCall(call, mask);
      const besides = visible.note.length + describeForThread(question).length;
      const room = messageChars - head.length - besides - reservedChars;
      if (!question.file) return showCall(head, visible, Math.max(leastShown, room));
      const shown = showCall(head, visible, Math.max(leastShown, room / 2));
      return showToRead(shown, question.file, messageChars - shown.markdown.length - reservedChars);
    }
  }
}

/** All of it where it fits, else its beginning and end, and all of it as a file. */
function showText(text: string, characters: number): Asked {
  const cut = cutMiddle(text, Math.max(leastShown, characters));
  if (!cut) return { markdown: text };
  const omitted = `⚠️ ${cut.omitted} characters are not shown here; the whole text is in question.md.`;
  return { markdown: [cut.start, omitted, cut.end].join("\n\n"), file: { name: "question.md", text } };
}

/** Why it is asked, and which files the answer is about. */
function describeReason(question: Extract<Question, { kind: "approval" }>, write = toInlineCode): string {
  const { why, changed = [], files = [] } = question;
  const list = (paths: readonly string[]) => {
    const named = paths
      .slice(0, namedFiles)
      .map((path) => write(cutText(escapeHiddenAndBlank(path).text, 80).replaceAll("\n", " ")));
    const more = paths.length > named.length ? ` and ${paths.length - named.length} more` : "";
    return `${named.join(", ")}${more}`;
  };
  const again =
    changed.length > 0
      ? `⚠️ Asked again: ${list(changed)} ${changed.length === 1 ? "has" : "have"} changed since it was approved.`
      : "";
  const bound =
    files.length > 0
      ? `Your answer is about ${list(files.map(({ path }) => path))} as it is at this moment.`
      : "";
  return [why, again, bound].filter(Boolean).join(" ");
}

/** All of a call that fits; of a longer one both ends, and all of it as a file. */
function showCall(head: string, { text, besides, note }: VisibleCall, characters: number): Asked {
  const room = characters - (besides === undefined ? 0 : Math.min(besides.length, characters / 2) + 20);
  const [shown, isWhole] = showCut(text, room);
  const [also, isAlsoWhole] = besides === undefined ? ["", true] : showCut(besides, characters / 2);
  const markdown = [head, ...shown, ...(also ? ["with", ...also] : []), note].filter(Boolean).join("\n");
  if (isWhole && isAlsoWhole) return { markdown };
  // What it is given besides comes first and on one line, so that no command can look like it.
  const whole = besides === undefined ? text : `with ${besides}\n\n${text}`;
  return { markdown, file: { name: wholeCall, text: whole } };
}

const wholeCall = "call.txt";

/** Below the call what is to be read before it is approved: as much as fits, and all of it as a file. */
function showToRead(call: Asked, file: ShownFile, characters: number): Asked {
  const text = escapeHiddenAndBlank(file.text.trimEnd()).text;
  const room = Math.min(mostToRead, Math.max(0, characters - 100));
  // Platforms draw a difference in colours where they are told that it is one.
  const language = file.name.endsWith(".diff") ? "diff" : "";
  if (text.length <= room && !call.file) {
    return { markdown: `${call.markdown}\n${toCodeBlock(text, language)}` };
  }
  const end = text.slice(0, room).lastIndexOf("\n");
  const shown = text.length <= room ? text : text.slice(0, Math.max(0, end));
  const lines = [
    call.markdown,
    ...(shown ? [toCodeBlock(shown, language)] : []),
    ...(shown.length < text.length ? [`All of it is in ${file.name}.`] : []),
  ];
  const whole = call.file ? `${call.file.text}\n\n${text}` : text;
  return { markdown: lines.join("\n"), file: { name: file.name, text: whole } };
}

function showCut(text: string, characters: number): [lines: string[], isWhole: boolean] {
  const cut = cutMiddle(text, Math.floor(characters));
  if (!cut) return [[toCodeBlock(text)], true];
  const omitted = `⚠️ ${cut.omitted} characters are not shown here; the whole call is in ${wholeCall}.`;
  return [[toCodeBlock(cut.start), omitted, toCodeBlock(cut.end)], false];
}

function describeEnding(decision: Decision | undefined, mask: QuestionPlace["mask"]): string {
  switch (decision?.kind) {
    case "approved":
      return decision.rules
        ? `✅ **Approved for this thread** by ${escapeMarkdown(decision.by.name)}. \`!approvals\` shows what is, and takes it back.`
        : `✅ **Approved** by ${escapeMarkdown(decision.by.name)}.`;
    case "denied":
      return `🚫 **Denied** by ${escapeMarkdown(decision.by.name)}${decision.reason ? `: ${shorten(mask(decision.reason))}` : "."}`;
    case "answered":
      return decision.text === undefined
        ? `↩️ ${escapeMarkdown(decision.by.name)} answered below.`
        : `↩️ ${escapeMarkdown(decision.by.name)}: **${shorten(mask(decision.text))}**`;
    case "unasked":
      return "🚫 This could not be asked.";
    case "expired":
      return "⌛ Nobody answered in time.";
    case undefined:
      return "■ No longer needed.";
  }
}

function describeAccount({ requester, server, host }: Extract<Question, { kind: "account" }>): string {
  const name = escapeMarkdown(requester.name);
  return (
    `🔑 **${name}, connect your account at ${escapeMarkdown(removeHidden(server))}** (${toInlineCode(host)}). ` +
    `What you ask me for is done there with your account, and what others ask for never is. The link is shown to you alone.`
  );
}

/** Where the words for other questions do not fit. */
function describeOwnEnding(
  question: Question,
  decision: Decision | undefined,
  mask: QuestionPlace["mask"],
): string | undefined {
  if (question.kind === "account") return describeConnecting(decision, mask);
  if (question.kind !== "input" || decision?.kind !== "answered") return undefined;
  const answer = inputAnswerSchema.safeParse(parseJson(decision.text ?? "")).data;
  const name = escapeMarkdown(decision.by.name);
  if (answer?.action !== "accept") return `🚫 **Declined** by ${name}.`;
  const said = Object.entries(answer.content ?? {}).map(([field, value]) => `${field}: ${String(value)}`);
  return said.length > 0 ? `↩️ ${name}: **${shorten(mask(said.join(", ")))}**` : `↩️ ${name} has done it.`;
}

function describeConnecting(decision: Decision | undefined, mask: QuestionPlace["mask"]): string {
  if (decision?.kind === "approved") return `✅ **Connected** by ${escapeMarkdown(decision.by.name)}.`;
  if (decision?.kind === "denied") return `🚫 **Not connected**, said ${escapeMarkdown(decision.by.name)}.`;
  return describeEnding(decision, mask);
}

/** `intake/questions/question-decisions.ts` reads their ids. */
function createButtons(question: Question): ActionButton[] {
  switch (question.kind) {
    case "approval":
      // Red is the Stop beside them, which ends the whole turn.
      return [
        { id: `approve:${question.id}`, label: "Approve", style: "primary" },
        ...(question.rules ? [forThreadButton(question.id)] : []),
        { id: `deny:${question.id}`, label: "Deny", style: "plain" },
        {
          id: `deny:${question.id}`,
          label: "Deny with a reason…",
          style: "plain",
          asksFor: "Why not? The agent reads it.",
        },
      ];
    case "account":
      return [
        { id: `connect:${question.id}`, label: "Connect", style: "primary" },
        {
          id: `connect-code:${question.id}`,
          label: "Enter the code…",
          style: "plain",
          asksFor: "The code that the page shows once you have signed in",
        },
        { id: `deny:${question.id}`, label: "Not now", style: "plain" },
      ];
    case "input":
      return createInputButtons(question);
    case "choice":
      return question.choices.map((label, index) => ({
        id: `answer:${question.id}:${index}`,
        label: removeHidden(label),
        style: "plain",
      }));
  }
}

function forThreadButton(id: string): ActionButton {
  return { id: `approve-thread:${id}`, label: "Approve for this thread", style: "plain" };
}

function shorten(text: string): string {
  return escapeMarkdown(cutText(removeHidden(text).replaceAll(/\s+/g, " ").trim(), shownReason));
}
