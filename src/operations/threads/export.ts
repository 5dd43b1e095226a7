import type { Redis } from "ioredis";
import type { JournalRecord } from "../../agent/journal/journal.ts";
import { textOf, toolCalls } from "../../agent/messages.ts";
import type { ThreadId } from "../../chat/threads.ts";
import { readForward } from "../../queue/session/journal/journal.ts";
import { makeExcerpt, type Mask } from "../excerpt.ts";
import type { ThreadLine } from "../finding.ts";

export type ExportFormat = "markdown" | "json";

/** Of one result of a tool in Markdown; JSON has all of it. */
const resultChars = 4_000;

/** A thread as a document, in pieces, so that none is too long to be held. Every text is masked. */
export async function* exportThread(
  redis: Redis,
  line: ThreadLine,
  format: ExportFormat,
  mask: Mask,
): AsyncGenerator<string> {
  const { thread, title } = line;
  if (format === "json") {
    yield* exportJson(redis, thread, title, mask);
    return;
  }
  yield `# ${title || "Thread"}\n\n${thread}\n`;
  for await (const { records } of readForward(redis, thread))
    yield records.map((record) => mask(toMarkdown(record, mask))).join("");
}

async function* exportJson(
  redis: Redis,
  thread: ThreadId,
  title: string,
  mask: Mask,
): AsyncGenerator<string> {
  yield `{"thread":${JSON.stringify(thread)},"title":${JSON.stringify(title)},"records":[`;
  let separator = "\n";
  for await (const { records } of readForward(redis, thread)) {
    for (const record of records) {
      // Once more as a whole: names of fields may be secrets, and others are told by the name of theirs.
      yield separator +
        mask(
          JSON.stringify(record, (_name, value: unknown) =>
            typeof value === "string" ? mask(value) : value,
          ),
        );
      separator = ",\n";
    }
  }
  yield "\n]}\n";
}

function toMarkdown(record: JournalRecord, mask: Mask): string {
  switch (record.type) {
    case "user": {
      const { author, text, at } = record.message;
      return `\n## ${author.name} · ${new Date(at).toISOString()}\n\n${text}\n`;
    }
    case "assistant": {
      const calls = toolCalls(record.message).map(
        (call) => `\n${fence(`${call.name} ${call.malformed ?? JSON.stringify(call.input)}`)}`,
      );
      const text = textOf(record.message);
      return `\n## Heddle · ${new Date(record.at).toISOString()}\n${text ? `\n${text}\n` : ""}${calls.join("")}`;
    }
    case "tool-result": {
      const { name, status, text } = record.message;
      const cut = makeExcerpt(text, mask, resultChars);
      return `\n${name}: ${status}\n\n${fence(cut.omitted > 0 ? `${cut.text}\n…` : cut.text)}`;
    }
    case "decision": {
      const { decision } = record;
      return `\n*${decision.kind}${"by" in decision ? ` by ${decision.by.name}` : ""}*\n`;
    }
    case "turn-end":
      return record.outcome.kind === "answered" ? "" : `\n*The turn ended: ${record.outcome.kind}*\n`;
    default:
      return "";
  }
}

/** Longer than any run of backticks in the text, so that nothing ends it early. */
function fence(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const mark = "`".repeat(longest + 1);
  return `${mark}\n${text}\n${mark}\n`;
}
