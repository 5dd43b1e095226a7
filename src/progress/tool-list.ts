import { readFailedExit } from "../agent/exit-code.ts";
import type { ToolCall, ToolMessage } from "../agent/messages.ts";
import { describeEarlier, describeNotRun } from "../chat/call-text.ts";
import { escapeMarkdown } from "../chat/escape-markdown.ts";
import type { ShownCall } from "../chat/outbound.ts";
import { toPlainOutput } from "../chat/terminal-text.ts";
import { describeCall, formatCount, nameCall, primaryArgument, readTitle } from "./describe.ts";
import { toCodeBlock } from "../chat/visible-call.ts";

/** The calls of a turn as its thread shows them. */
export interface ToolList {
  /** @param state `pending`: it waits for a decision; such a call is started again once it may run */
  start(call: ToolCall, state: "running" | "pending"): void;
  /** Adds what a running call has printed. */
  print(callId: string, chunk: string): void;
  /** @param tookMs where that is known */
  end(message: ToolMessage, tookMs?: number): void;
  readonly isEmpty: boolean;
  /** Markdown, one line for each call, the newest last. */
  text(): string;
  /** The same calls as data. */
  items(): ShownCall[];
  /** How many calls are left out at the beginning. */
  readonly earlier: number;
}

interface ToolLine {
  shown: ShownCall & { callId: string };
  text: string;
  /** The very beginning of the result. */
  start: string;
}

/** How many calls are shown; of earlier ones only the number. */
const shownTools = 12;
/** How much of a result is kept, and how much of it is in the text, where nothing can be collapsed. */
const kept = { lines: 60, chars: 2_000 };
const start = { lines: 4, chars: 300 };
/** How much of what a running call prints is kept. */
const outputTail = { lines: 20, chars: 2_000 };

/**
 * @param options.withResults whether the beginning of each result is shown with its call
 * @param options.mask hides secrets of calls; results come masked
 */
export function createToolList({
  withResults,
  mask,
  now = Date.now,
}: {
  withResults: boolean;
  mask(text: string): string;
  now?: () => number;
}): ToolList {
  const tools: ToolLine[] = [];
  let hidden = 0;
  const find = (callId: string) => tools.findLast(({ shown }) => shown.callId === callId);
  return {
    get earlier() {
      return hidden;
    },
    start(call, state) {
      const running = state === "running" && { startedAt: now() };
      const waiting = tools.find(({ shown }) => shown.callId === call.id && shown.state === "pending");
      if (waiting) {
        Object.assign(waiting.shown, { state }, running);
        return;
      }
      // Call ids repeat with some models; the place in the turn does not.
      const id = String(hidden + tools.length);
      const title = readTitle(call, mask);
      tools.push({
        shown: {
          ...{ id, callId: call.id, name: nameCall(call), about: primaryArgument(call, mask), state },
          ...(title !== undefined && { title }),
          ...running,
        },
        // Beside the call, never in its place: only the call is what was run.
        text: [title && escapeMarkdown(title), describeCall(call, mask)].filter(Boolean).join(": "),
        start: "",
      });
      if (tools.length <= shownTools) return;
      tools.shift();
      hidden += 1;
    },
    print(callId, chunk) {
      const line = find(callId)?.shown;
      if (line) line.output = takeEnd((line.output ?? "") + chunk);
    },
    end({ callId, status, notRun, text }, tookMs) {
      const line = find(callId);
      if (!line) return;
      const { shown } = line;
      shown.state = status;
      delete shown.output;
      delete shown.startedAt;
      if (tookMs !== undefined) shown.tookMs = tookMs;
      if (notRun) {
        shown.notRun = notRun;
        line.text = `${line.text} · ${describeNotRun(notRun)}`;
      }
      const exit = readFailedExit(shown.name, text);
      if (exit) {
        // The call is ok, for the model; people would take its sign for that of a success.
        shown.state = "error";
        shown.about = [shown.about, exit].filter(Boolean).join(" · ");
        line.text = `${line.text} · ${exit}`;
      }
      if (!withResults || text.trim() === "") return;
      shown.result = takeBeginning(text, kept);
      line.start = takeBeginning(toPlainOutput(text), start);
    },
    get isEmpty() {
      return tools.length === 0;
    },
    text() {
      const lines = tools.map((tool) => {
        const line = `${signOf(tool.shown)} ${tool.text}`;
        return tool.start ? `${line}\n${toCodeBlock(tool.start)}` : line;
      });
      return [describeEarlier(hidden), ...lines].filter(Boolean).join("  \n");
    },
    items: () => tools.map(({ shown }) => ({ ...shown })),
  };
}

function takeEnd(output: string): string {
  const last = output.slice(-outputTail.chars);
  // What is cut begins with a whole line: half an escape sequence would be read as text.
  const whole = last.length < output.length ? last.slice(last.indexOf("\n") + 1) : last;
  return whole.split("\n").slice(-outputTail.lines).join("\n");
}

function takeBeginning(text: string, most: { lines: number; chars: number }): string {
  const lines = text.trim().split("\n");
  const first = lines.slice(0, most.lines).join("\n");
  const short = first.slice(0, most.chars).toWellFormed();
  if (short.length < first.length) return `${short}…`;
  return lines.length > most.lines
    ? `${short}\n… ${formatCount(lines.length - most.lines, "more line")}`
    : short;
}

function signOf({ state, notRun }: ShownCall): string {
  if (notRun) return "⊘";
  switch (state) {
    case "running":
      return "▸";
    case "pending":
      return "⏸";
    case "ok":
      return "✓";
    case "partial":
      return "◐";
    case "error":
      return "✗";
    case "stopped":
      return "■";
    case "unknown":
      return "?";
  }
}
