import { readFailedExit } from "../../agent/exit-code.ts";
import type { Masker } from "../../agent/secrets/masker.ts";
import { describeNotRun } from "../../chat/call-text.ts";
import {
  describeCompaction,
  formatDuration,
  nameCall,
  primaryArgument,
  renderTodoList,
} from "../../progress/describe.ts";
import type { LiveEvent } from "../../progress/live-event.ts";
import { describeQuestionPlainly } from "../../progress/question-messages.ts";
import { createLiveRegion, measureWidth, type Output } from "./live-region.ts";
import { RunningCalls } from "./running-calls.ts";
import { renderMarkdown } from "./terminal-markdown.ts";

/** Shows a turn in a terminal: progress on one stream, the answer on the other. */
export interface TerminalView {
  show(event: LiveEvent): void;
  /** Shows what is said without a turn. */
  answer(markdown: string): void;
  /** Draws the time anew that what runs has taken. To be called again and again. */
  tick(): void;
  /** Takes off the screen what changes, for somebody else who writes. */
  pause(): void;
}

/** Output of a command is drawn at most so often, in ms. */
const drawEveryMs = 100;

/**
 * On a terminal the text that the model is writing appears live, dimmed, and is replaced by the final answer, and what
 * runs shows its last lines and its time; when piped, each fact is one plain line and only the answer goes to `answers`. Secrets are masked.
 */
export function createTerminalView(
  answers: Output,
  progress: Output,
  masker: Masker,
  now: () => number = Date.now,
): TerminalView {
  const live = progress.isTTY === true;
  const dim = (text: string) => (live ? `\u001b[2m${text}\u001b[22m` : text);
  const plain = (text: string) => masker.mask(stripControls(text));
  const render = (markdown: string) => (answers.isTTY ? renderMarkdown(markdown) : markdown);
  const region = createLiveRegion(progress);
  const calls = new RunningCalls(now);
  let drawnAt = 0;
  const draw = () => {
    if (!live || streaming || calls.size === 0) return;
    region.draw(calls.lines());
    drawnAt = now();
  };
  let streaming = false;
  /** What the model has written since the last line of Heddle's own. */
  let streamed = "";
  const writing = masker.stream((text) => {
    streamed += text;
    progress.write(dim(text));
  });
  /** @param after what goes behind the text that was streamed */
  const endStream = (after: (text: string) => string) => {
    region.clear();
    if (!streaming) return;
    streaming = false;
    writing.end();
    progress.write(after(streamed));
    streamed = "";
  };
  const line = (text: string) => {
    endStream(() => "\n");
    progress.write(`${text}\n`);
  };
  const answer = (markdown: string) => void answers.write(`${render(plain(markdown))}\n`);
  return {
    answer,
    tick: draw,
    pause: () => region.clear(),
    show(event) {
      switch (event.type) {
        case "text-delta":
          if (!live) break;
          region.clear();
          streaming = true;
          writing.write(stripControls(event.delta));
          break;
        case "tool-start":
          // Its result is the plan, which says all that its arguments do.
          if (event.call.name === "todo") break;
          line(`▸ ${plain(`${nameCall(event.call)} ${primaryArgument(event.call, masker.mask)}`.trimEnd())}`);
          calls.start(event.call.id);
          break;
        case "tool-output":
          calls.add(event.callId, plain(event.chunk));
          if (now() - drawnAt >= drawEveryMs) draw();
          break;
        case "tool-end":
          calls.end(event.message.callId);
          line(describeEnd(event, plain, dim));
          break;
        case "question":
          line(plain(describeQuestionPlainly(event.question, event.call, (text) => masker.mask(text))));
          if (event.question.kind === "choice")
            event.question.choices.forEach((choice, index) => line(`  ${index + 1}. ${plain(choice)}`));
          break;
        case "retry":
          line(`… ${plain(event.reason)} Trying again in ${formatDuration(event.delayMs)}.`);
          break;
        case "notice":
          line(plain(event.text));
          break;
        case "summary":
        case "trim":
          line(`… ${describeCompaction(event)}`);
          break;
        case "turn-end":
          calls.clear();
          endStream((text) => (answers.isTTY && createErasure(text, progress)) || "\n\n");
          answer(event.closing.markdown);
          if (event.closing.footer) progress.write(`${dim(plain(event.closing.footer))}\n`);
          break;
        case "turn-start":
        case "step-start":
        case "thinking-delta":
        case "assistant":
        case "helper":
        case "follow-up":
        case "nudge":
          break;
      }
    },
  };
}

type Style = (text: string) => string;

/** The plan that a call has made, or how the call ended, on one line. */
function describeEnd(
  { message, durationMs }: Extract<LiveEvent, { type: "tool-end" }>,
  plain: Style,
  dim: Style,
): string {
  const plan = renderTodoList(message);
  if (plan) return plain(plan.replaceAll("**", ""));
  const first = message.text.trim().split("\n")[0] ?? "";
  const isFailed = readFailedExit(message.name, message.text) !== undefined;
  const word = message.notRun ? describeNotRun(message.notRun) : isFailed ? "failed" : message.status;
  return dim(`  ${word} · ${formatDuration(durationMs)} · ${plain(first).slice(0, 100)}`);
}

/** What takes text off a terminal that ends with it; empty where its beginning has left the screen. */
function createErasure(text: string, { columns = 80, rows = 0 }: Output): string {
  const used = text
    .split("\n")
    .reduce((sum, line) => sum + Math.max(1, Math.ceil(measureWidth(line) / columns)), 0);
  if (used >= rows) return "";
  return `\r${used > 1 ? `\u001b[${used - 1}A` : ""}\u001b[J`;
}

/** Without control characters: what a stranger, a model or a file says must not steer the terminal. */
export function stripControls(text: string): string {
  // oxlint-disable-next-line no-control-regex -- these are what must go
  return text.replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "");
}
