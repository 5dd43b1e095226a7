import { readFailedExit } from "../agent/exit-code.ts";
import type { ToolCall, ToolMessage } from "../agent/messages.ts";
import type { ShownCall } from "../chat/outbound.ts";
import { describeCall, formatCount, nameCall, primaryArgument, readTitle } from "./describe.ts";
import { toCodeBlock } from "../chat/visible-call.ts";

/** The calls of a turn as its thread shows them. */
export interface ToolList {
  /** @param state `pending`: it waits for a decision; such a call is started again once it may run */
  start(call: ToolCall, state: "running" | "pending"): void;
  end(message: ToolMessage): void;
  readonly isEmpty: boolean;
  /** Markdown, one line for each call, the newest last. */
  text(): string;
  /** The same calls as data. */
  items(): ShownCall[];
  /** How many calls are left out at the beginning, in words; empty without any. */
  earlier(): string;
}

interface ToolLine extends ShownCall {
  callId: string;
  text: string;
  /** The very beginning of the result. */
  start: string;
}

/** How many calls are shown; of earlier ones only the number. */
const shownTools = 12;
/** How much of a result is kept, and how much of it is in the text, where nothing can be collapsed. */
const kept = { lines: 60, chars: 2_000 };
const start = { lines: 4, chars: 300 };

/** @param withResults whether the beginning of each result is shown with its call */
export function createToolList({ withResults }: { withResults: boolean }): ToolList {
  const tools: ToolLine[] = [];
  let hidden = 0;
  const earlier = () => (hidden > 0 ? `… ${formatCount(hidden, "earlier call")}` : "");
  return {
    earlier,
    start(call, state) {
      const waiting = tools.find((tool) => tool.callId === call.id && tool.state === "pending");
      if (waiting) {
        waiting.state = state;
        return;
      }
      // Call ids repeat with some models; the place in the turn does not.
      const id = String(hidden + tools.length);
      const text = describeCall(call);
      const title = readTitle(call);
      tools.push({
        id,
        callId: call.id,
        name: nameCall(call),
        about: primaryArgument(call),
        ...(title !== undefined && { title }),
        text,
        state,
        start: "",
      });
      if (tools.length <= shownTools) return;
      tools.shift();
      hidden += 1;
    },
    end({ callId, status, text }) {
      const line = tools.findLast((tool) => tool.callId === callId);
      if (!line) return;
      line.state = status;
      const exit = readFailedExit(line.name, text);
      if (exit) {
        // The call is ok, for the model; people would take its sign for that of a success.
        line.state = "error";
        line.about = [line.about, exit].filter(Boolean).join(" · ");
        line.text = `${line.text} · ${exit}`;
      }
      if (!withResults || text.trim() === "") return;
      line.result = takeBeginning(text, kept);
      line.start = takeBeginning(text, start);
    },
    get isEmpty() {
      return tools.length === 0;
    },
    text() {
      const lines = tools.map((tool) => {
        const line = `${signOf(tool.state)} ${tool.text}`;
        return tool.start ? `${line}\n${toCodeBlock(tool.start)}` : line;
      });
      return [earlier(), ...lines].filter(Boolean).join("  \n");
    },
    items: () =>
      tools.map(({ id, name, about, title, state, result }) => {
        const optional = { ...(title !== undefined && { title }), ...(result !== undefined && { result }) };
        return { id, name, about, state, ...optional };
      }),
  };
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

function signOf(state: ShownCall["state"]): string {
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
