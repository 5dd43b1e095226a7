import type { ToolCall } from "../agent/messages.ts";
import type { Decision, Question } from "../agent/questions.ts";
import { cutText } from "../agent/well-formed.ts";
import type { ActionButton, OutboundMessage } from "../chat/outbound.ts";
import { formatDuration } from "./describe.ts";

/** Renders the messages that ask people a question and say how it ended. */

/** How much of a call is shown: it must fit into one message on every platform (Discord takes 2,000 characters). */
const shownStart = 900;
const shownEnd = 500;
const shownReason = 200;

export function renderQuestion(question: Question, call: ToolCall): OutboundMessage {
  const { requester, expiresAt, askedAt } = question;
  return {
    kind: "question",
    markdown: describeQuestion(question, call),
    footer: `For ${requester.name} · open for ${formatDuration(expiresAt - askedAt)}`,
    stoppable: true,
    actions: createButtons(question),
  };
}

/** Without a decision, the turn ended before there was one. */
export function renderDecision(question: Question, call: ToolCall, decision?: Decision): OutboundMessage {
  return { kind: "question", markdown: `${describeQuestion(question, call)}\n\n${describeEnding(decision)}` };
}

/** What is asked, without its buttons. */
export function describeQuestion(question: Question, call: ToolCall): string {
  switch (question.kind) {
    case "choice":
      return `❓ ${question.text}`;
    case "approval": {
      // The reason is the operator's; the call is the model's, and must not look like anything but code.
      return `🔐 **May I run \`${call.name}\`?** ${question.why}\n${toCodeBlock(renderCall(call))}`;
    }
  }
}

function describeEnding(decision: Decision | undefined): string {
  switch (decision?.kind) {
    case "approved":
      return `✅ **Approved** by ${decision.by.name}.`;
    case "denied":
      return `🚫 **Denied** by ${decision.by.name}${decision.reason ? `: ${shorten(decision.reason)}` : "."}`;
    case "answered":
      return decision.text === undefined
        ? `↩️ ${decision.by.name} answered below.`
        : `↩️ ${decision.by.name}: **${shorten(decision.text)}**`;
    case "unasked":
      return "🚫 This could not be asked.";
    case "expired":
      return "⌛ Nobody answered in time.";
    case undefined:
      return "■ No longer needed.";
  }
}

/** `intake/question-decisions.ts` reads their ids. */
function createButtons(question: Question): ActionButton[] {
  switch (question.kind) {
    case "approval":
      return [
        { id: `approve:${question.id}`, label: "Approve", style: "primary" },
        {
          id: `deny:${question.id}`,
          label: "Deny",
          style: "danger",
          asksFor: "Why not? The agent reads it.",
        },
      ];
    case "choice":
      return question.choices.map((label, index) => ({
        id: `answer:${question.id}:${index}`,
        label,
        style: "plain",
      }));
  }
}

/** All of a short call; of a long one both ends, with how much is left out, so that nobody approves it unknowingly. */
function renderCall({ input }: ToolCall): string {
  const isCommand = typeof input === "object" && input !== null && "command" in input;
  const text =
    isCommand && typeof input.command === "string" ? input.command : JSON.stringify(input, null, 2);
  if (text.length <= shownStart + shownEnd) return text;
  const left = text.length - shownStart - shownEnd;
  return `${text.slice(0, shownStart)}\n[⚠️ ${left} characters are not shown here]\n${text.slice(-shownEnd)}`;
}

/** A fence longer than any run of backticks inside. */
function toCodeBlock(text: string): string {
  const fence = "`".repeat(Math.max(2, ...(text.match(/`+/g) ?? []).map((run) => run.length)) + 1);
  return `${fence}\n${text.toWellFormed()}\n${fence}`;
}

function shorten(text: string): string {
  return cutText(text.replaceAll(/\s+/g, " ").trim(), shownReason);
}
