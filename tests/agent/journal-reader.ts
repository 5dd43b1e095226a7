import type { JournalReader, JournalRecord } from "../../src/agent/journal/journal.ts";

/** Reads a journal that is in memory, in pieces of so many records. */
export function readerOf(records: () => readonly JournalRecord[], size = 7): JournalReader {
  const piece = (from: number, to: number) => {
    const part = records().slice(from, to);
    return { records: part, from, chars: JSON.stringify(part).length };
  };
  return {
    async *forward(from) {
      for (; from < records().length; from += size) yield piece(from, from + size);
    },
    async *backward(before = Infinity) {
      for (let end = Math.min(before, records().length); end > 0; end -= size) {
        yield piece(Math.max(0, end - size), end);
      }
    },
  };
}
