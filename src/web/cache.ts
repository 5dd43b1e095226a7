import type { WebReading } from "../agent/contracts/web.ts";

type Kept = Extract<WebReading, { ok: true }>;

const mostEntries = 200;
const mostBytes = 64 * 1_048_576;

/** Pages that were read lately, the newest, by thread and address. */
export function createPageCache(keepMs: number, now: () => number) {
  const entries = new Map<string, { reading: Kept; until: number; bytes: number }>();
  let total = 0;

  function drop(key: string): void {
    total -= entries.get(key)?.bytes ?? 0;
    entries.delete(key);
  }

  return {
    find(key: string): Kept | undefined {
      const found = entries.get(key);
      if (found && found.until > now()) return found.reading;
      drop(key);
      return undefined;
    },
    keep(key: string, reading: Kept): void {
      drop(key);
      // A character takes up to two bytes.
      const bytes = reading.kind === "text" ? 2 * reading.page.text.length : reading.file.data.length;
      entries.set(key, { reading, until: now() + keepMs, bytes });
      total += bytes;
      for (const oldest of entries.keys()) {
        if (entries.size <= mostEntries && total <= mostBytes) return;
        drop(oldest);
      }
    },
  };
}
