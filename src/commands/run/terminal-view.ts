import type { WriteStream } from "node:tty";
import type { Masker } from "../../agent/masker.ts";
import {
  describeCompaction,
  formatDuration,
  nameCall,
  primaryArgument,
  renderTodoList,
} from "../../progress/describe.ts";
import type { LiveEvent } from "../../progress/live-event.ts";
import { describeQuestionPlainly } from "../../progress/question-messages.ts";

/** Shows a turn in a terminal: progress on one stream, the answer on the other. */
export interface TerminalView {
  show(event: LiveEvent): void;
}

type Output = Pick<WriteStream, "write"> & Partial<Pick<WriteStream, "isTTY" | "columns" | "rows">>;

/**
 * On a terminal the text that the model is writing appears live, dimmed, and is replaced by the final answer;
 * when piped, each fact is one plain line and only the answer goes to `answers`. Secrets are masked.
 */
export function createTerminalView(answers: Output, progress: Output, masker: Masker): TerminalView {
  const live = progress.isTTY === true;
  const dim = (text: string) => (live ? `\u001b[2m${text}\u001b[22m` : text);
  const plain = (text: string) => masker.mask(stripControls(text));
  let streaming = false;
  /** What the model has written since the last line of Heddle's own. */
  let streamed = "";
  const writing = masker.stream((text) => {
    streamed += text;
    progress.write(dim(text));
  });
  /** @param after what goes behind the text that was streamed */
  const endStream = (after: (text: string) => string) => {
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
  return {
    show(event) {
      switch (event.type) {
        case "text-delta":
          if (!live) break;
          streaming = true;
          writing.write(stripControls(event.delta));
          break;
        case "tool-start":
          line(`▸ ${plain(`${nameCall(event.call)} ${primaryArgument(event.call)}`.trimEnd())}`);
          break;
        case "tool-end": {
          const plan = renderTodoList(event.message);
          if (plan) {
            line(plain(plan.replaceAll("**", "")));
            break;
          }
          const first = event.message.text.trim().split("\n")[0] ?? "";
          line(
            dim(
              `  ${event.message.status} · ${formatDuration(event.durationMs)} · ${plain(first).slice(0, 100)}`,
            ),
          );
          break;
        }
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
          endStream((text) => (answers.isTTY && erasing(text, progress)) || "\n\n");
          answers.write(`${plain(event.closing.markdown)}\n`);
          if (event.closing.footer) progress.write(`${dim(plain(event.closing.footer))}\n`);
          break;
        case "turn-start":
        case "step-start":
        case "thinking-delta":
        case "assistant":
        case "tool-output":
        case "helper":
        case "follow-up":
        case "nudge":
          break;
      }
    },
  };
}

/** What takes text off a terminal that ends with it; empty where its beginning has left the screen. */
function erasing(text: string, { columns = 80, rows = 0 }: Output): string {
  const width = (line: string) => [...line].reduce((sum, sign) => sum + (sign > "\u10ff" ? 2 : 1), 0);
  const used = text.split("\n").reduce((sum, line) => sum + Math.max(1, Math.ceil(width(line) / columns)), 0);
  if (used >= rows) return "";
  return `\r${used > 1 ? `\u001b[${used - 1}A` : ""}\u001b[J`;
}

/** Without control characters: what a stranger, a model or a file says must not steer the terminal. */
export function stripControls(text: string): string {
  // oxlint-disable-next-line no-control-regex -- these are what must go
  return text.replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "");
}
