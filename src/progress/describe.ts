import type { AgentEvent, TurnOutcome } from "../agent/events.ts";
import type { ToolCall, ToolMessage } from "../agent/messages.ts";
import type { Usage } from "../agent/model.ts";
import { escapeHidden } from "../agent/text/hidden-characters.ts";
import { cutText } from "../agent/text/text.ts";
import { toInlineCode } from "../chat/visible-call.ts";

/** Describes calls, figures and outcomes in words that are the same on every platform. */

const shownCharacters = 120;

/** Hides secrets. Applied before a text is cut: half a secret would not be recognised. */
type Mask = (text: string) => string;
const asItIs: Mask = (text) => text;

/** One line about a tool call: its name and its primary argument. */
export function describeCall(call: ToolCall, mask = asItIs): string {
  return `${toInlineCode(nameCall(call))} ${toInlineCode(primaryArgument(call, mask))}`;
}

/** The name of its tool, which a model may have made up. */
export function nameCall({ name }: ToolCall): string {
  return cutText(escapeHidden(takeFirstLine(name)).text, shownCharacters);
}

/** The argument that says most about a call, on one line and without a hidden character; empty when it has none. */
export function primaryArgument(call: ToolCall, mask = asItIs): string {
  const input = (call.input ?? {}) as Record<string, unknown>;
  const argument = [
    "command",
    "path",
    "query",
    "pattern",
    "name",
    "task",
    "question",
    "title",
    "repository",
    "content",
    "id",
  ]
    .map((key) => input[key])
    .find((value) => typeof value === "string");
  const text =
    typeof argument === "string"
      ? argument
      : call.malformed
        ? "(unreadable arguments)"
        : JSON.stringify(input);
  return text === "{}" ? "" : cutText(escapeHidden(mask(takeFirstLine(text))).text, shownCharacters);
}

/** What the model says that a command is for, on one line and without a hidden character; undefined where it says nothing. */
export function readTitle({ name, input }: ToolCall, mask: Mask): string | undefined {
  const { title } = (input ?? {}) as { title?: unknown };
  if (name !== "bash" || typeof title !== "string" || title.trim() === "") return undefined;
  return cutText(escapeHidden(mask(takeFirstLine(title))).text, shownCharacters);
}

const shownItems = 20;

/** The todo list as people see it; undefined when this is not the result of `todo`. */
export function renderTodoList({ name, status, text }: ToolMessage): string | undefined {
  if (name !== "todo" || status !== "ok") return undefined;
  const [progress = "", ...items] = text.split("\n");
  const lines = items
    .slice(0, shownItems)
    .map((item) =>
      cutText(item, shownCharacters).replace(/^\[(.)\]/, (_, mark: string) => boxes[mark] ?? "☐"),
    );
  if (items.length > shownItems) lines.push(`… ${items.length - shownItems} more`);
  return [`**Plan** · ${progress}`, ...lines].join("  \n");
}

const boxes: Record<string, string> = { x: "☑", ">": "▸", " ": "☐" };

/** What was done to make room in the context window. */
export function describeCompaction(event: Extract<AgentEvent, { type: "summary" | "trim" }>): string {
  const what =
    event.type === "summary" ? "Older messages were summarised" : "Old tool results were cut short";
  return `${what} (${formatCount(event.before, "token")} to ${formatCount(event.after, "token")}).`;
}

function takeFirstLine(text: string): string {
  const [first = "", ...rest] = text.trim().split("\n");
  return rest.length > 0 ? `${first} …` : first;
}

export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return joinUnits(`${minutes} min`, seconds % 60, "s");
  return joinUnits(`${Math.floor(minutes / 60)} h`, minutes % 60, "min");
}

function joinUnits(greater: string, rest: number, unit: string): string {
  return rest === 0 ? greater : `${greater} ${rest} ${unit}`;
}

export function formatCount(n: number, one: string, many = `${one}s`): string {
  // `Intl.NumberFormat` takes 15 ms of a process's start.
  const inThousands = String(n).replaceAll(/\B(?=(?:\d{3})+$)/g, ",");
  return `${inThousands} ${n === 1 ? one : many}`;
}

export function renderCost(usage: Usage): string[] {
  const tokens = usage.input + usage.output + usage.cacheRead + usage.cacheWrite;
  const parts = tokens > 0 ? [formatCount(tokens, "token")] : [];
  const dollars = `$${usage.cost.toFixed(usage.cost < 0.1 ? 4 : 2)}`;
  return usage.cost > 0 ? [...parts, usage.priceUnknown ? `at most ${dollars}` : dollars] : parts;
}

export function listFiles(
  what: "changed" | "deleted" | "beyond the plan",
  paths: readonly string[],
): string[] {
  if (paths.length === 0) return [];
  const own = paths.filter((path) => !installed.test(path));
  const named = own.slice(0, mostNamed).map(showPath);
  const more = own.length > mostNamed ? ` and ${own.length - mostNamed} more` : "";
  const shown = [...(named.length > 0 ? [`${named.join(", ")}${more}`] : []), ...countInstalled(paths)];
  return [`${paths.length === 1 ? "file" : "files"} ${what}: ${shown.join(", ")}`];
}

const mostNamed = 5;

/** On one line and without a hidden character: whoever names a file writes no line of ours. */
function showPath(path: string): string {
  return cutText(escapeHidden(path).text.replaceAll("\n", "\\n"), 60);
}

/** Folders that package managers and interpreters fill. Their thousands of names would hide what was worked on. */
const installed = /^(?:.*?\/)?(?:node_modules|\.?venv|site-packages|__pycache__)\//;

/** `web/node_modules/ (1,204)` */
function countInstalled(paths: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const path of paths) {
    const folder = installed.exec(path)?.[0];
    if (folder !== undefined) counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  const folders = [...counts].map(([folder, count]) => `${showPath(folder)} (${count.toLocaleString("en")})`);
  const more = folders.length - mostInstalled;
  return more > 0 ? [...folders.slice(0, mostInstalled), `${more} more such folders`] : folders;
}

const mostInstalled = 2;

/** Renders the headline of a finished progress message; undefined where the ✅ at the request says it. */
export function renderHeadline(outcome: TurnOutcome): string | undefined {
  switch (outcome.kind) {
    case "answered":
      return undefined;
    case "stopped":
      // By whom, and what that ended, is in the receipt.
      return "🛑 **Stopped**";
    case "step-limit":
    case "budget":
      return "⏸️ **Paused**";
    case "refused":
    case "model-error":
      return "⚠️ **Ended**";
    case "waiting":
      return "⏸️ **Waiting for your decision**";
    case "suspended":
    case "lost-lease":
      return "⏳ **Interrupted**";
  }
}
