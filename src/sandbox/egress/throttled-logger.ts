/** Keeps a log short, whatever a sandbox does. */
export interface BriefLog {
  /** @param bytes that were moved, where that is of interest */
  note(what: string, bytes?: number): void;
  /** Writes what was held back. */
  flush(): void;
}

const windowMs = 60_000;
const linesPerWindow = 20;

/**
 * Writes the first of what is the same within a minute, and counts the others; of what differs, so many lines a minute.
 * The counts are written when the minute is over and something else happens, or at the end.
 */
export function createThrottledLogger(write: (line: string) => void, now: () => number): BriefLog {
  const held = new Map<string, { times: number; bytes: number }>();
  let others = 0;
  let since = 0;

  function flush(): void {
    for (const [what, { times, bytes }] of held) {
      if (times > 0)
        write(`${what}, ${times} times more within a minute${bytes > 0 ? `, ${bytes} bytes` : ""}`);
    }
    if (others > 0) write(`${others} more that differ within a minute`);
    held.clear();
    others = 0;
  }

  return {
    note(what, bytes) {
      if (now() - since >= windowMs) {
        flush();
        since = now();
      }
      const same = held.get(what);
      if (same) {
        same.times += 1;
        same.bytes += bytes ?? 0;
      } else if (held.size < linesPerWindow) {
        held.set(what, { times: 0, bytes: 0 });
        write(bytes === undefined ? what : `${what} after ${bytes} bytes`);
      } else {
        others += 1;
      }
    },
    flush,
  };
}
