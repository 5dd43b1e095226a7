import type { WriteStream } from "node:tty";
import type { Masker } from "../agent/context/mask.ts";
import type { LiveEvent } from "../progress/reporter.ts";
import { asking } from "../progress/questions.ts";
import { checklist, describeCall, describeCompaction, duration } from "../progress/describe.ts";

/** Shows a turn in a terminal: progress on one stream, the answer on the other. */
export interface TerminalView {
  show(event: LiveEvent): void;
}

type Output = Pick<WriteStream, "write"> & { isTTY?: boolean };

/**
 * On a terminal the text that the model is writing appears live, dimmed, and is replaced by the final answer;
 * when piped, each fact is one plain line and only the answer goes to `answers`. Secrets are masked.
 */
export function terminalView(answers: Output, progress: Output, masker: Masker): TerminalView {
  const live = progress.isTTY === true;
  const dim = (text: string) => (live ? `\u001b[2m${text}\u001b[22m` : text);
  const plain = (text: string) => masker.mask(withoutControls(text));
  let streaming = false;
  const writing = masker.stream((text) => progress.write(dim(text)));
  const endStream = (lineEnd: string) => {
    if (!streaming) return;
    streaming = false;
    writing.end();
    progress.write(lineEnd);
  };
  const line = (text: string) => {
    endStream("\n");
    progress.write(`${text}\n`);
  };
  return {
    show(event) {
      switch (event.type) {
        case "text-delta":
          if (!live) break;
          streaming = true;
          writing.write(withoutControls(event.delta));
          break;
        case "tool-start":
          line(`▸ ${plain(describeCall(event.call).replaceAll("`", ""))}`);
          break;
        case "tool-end": {
          const plan = checklist(event.message);
          if (plan) {
            line(plain(plan.replaceAll("**", "")));
            break;
          }
          const first = event.message.text.trim().split("\n")[0] ?? "";
          line(
            dim(`  ${event.message.status} · ${duration(event.durationMs)} · ${plain(first).slice(0, 100)}`),
          );
          break;
        }
        case "question":
          line(plain(asking(event.question, event.call).replaceAll(/[*`]/g, "")));
          if (event.question.kind === "choice")
            event.question.choices.forEach((choice, index) => line(`  ${index + 1}. ${plain(choice)}`));
          break;
        case "retry":
          line(`… ${plain(event.reason)} Trying again in ${duration(event.delayMs)}.`);
          break;
        case "notice":
          line(plain(event.text));
          break;
        case "summary":
        case "trim":
          line(`… ${describeCompaction(event)}`);
          break;
        case "turn-end":
          endStream("\n\n");
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

/** Without control characters: a model or a file must not steer the terminal. */
function withoutControls(text: string): string {
  // oxlint-disable-next-line no-control-regex -- these are what must go
  return text.replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "");
}
