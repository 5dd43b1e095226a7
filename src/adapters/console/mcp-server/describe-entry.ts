import type { Excerpt } from "../../../operations/finding.ts";
import type { TimelineEntry } from "../../../operations/timeline/timeline-entry.ts";

/** An entry of a thread's journal as an agent reads it: short, and nothing for what has no news in it. */
export function describeEntry(entry: TimelineEntry): string {
  switch (entry.kind) {
    case "message":
      return `${entry.author}: ${cut(entry.text, 2_000)}`;
    case "model":
      return [
        ...(entry.text.text === "" ? [] : [`Heddle: ${cut(entry.text, 6_000)}`]),
        ...entry.calls.map(({ name, arguments: given }) => `  → ${name} ${cut(given, 300)}`),
      ].join("\n");
    case "tool-result": {
      const how = entry.exit ?? entry.status;
      return `  ← ${entry.name}${how === "ok" ? "" : ` (${how})`}: ${cut(entry.text, 600)}`;
    }
    case "question":
      return `Asks (question ${entry.id}, ${entry.tool}): ${cut(entry.text, 1_000)}`;
    case "decision":
      return `${entry.by || "Nobody"}: ${entry.decision}${entry.text.text === "" ? "" : `, ${cut(entry.text, 500)}`}`;
    case "unreadable":
      return `(A record cannot be read: ${cut(entry.text, 300)})`;
    case "summary":
      return "(The conversation was summarised.)";
    case "turn-end": {
      const more = [entry.detail, cut(entry.text, 6_000)].filter((text) => text !== "").join(": ");
      return `[turn ${entry.ended}${more === "" ? "" : `, ${more}`}]`;
    }
    case "turn-start":
    case "enclosure":
    case "withdrawn":
    case "nudge":
    case "tool-start":
    case "trim":
      return "";
  }
}

function cut({ text, omitted }: Excerpt, characters: number): string {
  const left = omitted + Math.max(0, text.length - characters);
  return left === 0 ? text : `${text.slice(0, characters).trimEnd()} [… ${left} more characters]`;
}
