import type { TaskCards } from "../adapters/adapter.ts";
import type { ToolCall, ToolMessage, ToolStatus } from "../agent/messages.ts";
import { count, describeCall } from "./describe.ts";

/** The calls of a turn as its thread shows them. */
export interface ToolList {
  /** @param state `pending`: it waits for a decision; such a call is started once more when it may run */
  start(call: ToolCall, state: "running" | "pending"): void;
  end(message: ToolMessage): void;
  readonly isEmpty: boolean;
  /** Markdown, a line a call, the newest last. */
  text(): string;
  /** The same as cards. */
  tasks(): TaskCards["tasks"];
  /** How many calls are left out at the beginning, in words; empty without any. */
  earlier(): string[];
}

interface ToolLine {
  callId: string;
  text: string;
  status: ToolStatus | "running" | "pending";
  result: string;
}

/** Calls that are shown; of the earlier ones only the number. */
const shownTools = 12;
/** How much of a result is shown. */
const resultLines = 4;
const resultChars = 300;

/** @param withResults whether the beginning of each result is shown under its call */
export function createToolList({ withResults }: { withResults: boolean }): ToolList {
  const tools: ToolLine[] = [];
  let hidden = 0;
  const earlier = () => (hidden > 0 ? [count(hidden, "earlier call")] : []);
  return {
    earlier,
    start(call, state) {
      const waiting = tools.find(({ callId, status }) => callId === call.id && status === "pending");
      if (waiting) {
        waiting.status = state;
        return;
      }
      tools.push({ callId: call.id, text: describeCall(call), status: state, result: "" });
      if (tools.length <= shownTools) return;
      tools.shift();
      hidden += 1;
    },
    end({ callId, status, text }) {
      const line = tools.findLast((tool) => tool.callId === callId);
      if (!line) return;
      line.status = status;
      if (withResults) line.result = folded(text);
    },
    get isEmpty() {
      return tools.length === 0;
    },
    text() {
      const lines = tools.map(({ status, text, result }) => {
        const line = `${sign(status)} ${text}`;
        return result ? `${line}\n${fenced(result)}` : line;
      });
      return [...earlier().map((words) => `… ${words}`), ...lines].join("  \n");
    },
    tasks: () =>
      tools.map(({ callId, text, status }) => {
        return { id: callId, title: text.replaceAll("`", ""), state: cardState(status) };
      }),
  };
}

/** Output in a fence that it cannot close. */
export function fenced(output: string): string {
  return `\`\`\`\n${output.replaceAll("```", "ʼʼʼ")}\n\`\`\``;
}

function folded(text: string): string {
  const lines = text.trim().split("\n");
  const start = lines.slice(0, resultLines).join("\n");
  const short = start.slice(0, resultChars).toWellFormed();
  if (short.length < start.length) return `${short}…`;
  return lines.length > resultLines ? `${short}\n… ${count(lines.length - resultLines, "more line")}` : short;
}

function cardState(status: ToolLine["status"]): TaskCards["tasks"][number]["state"] {
  switch (status) {
    case "running":
    case "pending":
      return "running";
    case "ok":
    case "partial":
      return "done";
    case "error":
    case "stopped":
    case "unknown":
      return "failed";
  }
}

function sign(status: ToolLine["status"]): string {
  switch (status) {
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
