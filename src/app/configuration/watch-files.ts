import { type FSWatcher, statSync, watch } from "node:fs";
import { dirname } from "node:path";

export interface WatchOptions {
  /** May be missing. */
  files: readonly string[];
  onChange(): void;
  /** A folder cannot be watched: its files are only looked at now and then. */
  onProblem(problem: string, error: unknown): void;
  /** How long after a change is told, so that whoever writes has finished, ms. Default 300. */
  settleMs?: number;
  /** How often is looked, for file systems that tell nothing, ms. Default 10,000. */
  lookMs?: number;
}

/**
 * Tells of changes of files. Their folders are watched, not they: editors put a new file in place of the old one, and
 * Kubernetes swaps a link. Returns how to end it.
 */
export function watchFiles({
  files,
  onChange,
  onProblem,
  settleMs = 300,
  lookMs = 10_000,
}: WatchOptions): () => void {
  let known = fingerprint(files);
  let waiting: NodeJS.Timeout | undefined;

  const look = () => {
    waiting = undefined;
    const found = fingerprint(files);
    if (found === known) return;
    known = found;
    onChange();
  };
  // Not put off by the next event: somebody who writes all the time would keep it waiting for ever.
  const hear = () => (waiting ??= setTimeout(look, settleMs).unref());

  const watchers: FSWatcher[] = [];
  for (const folder of new Set(files.map((file) => dirname(file)))) {
    try {
      const watcher = watch(folder, { persistent: false }, hear);
      watcher.on("error", (error) => onProblem(`The folder ${folder} is no longer watched.`, error));
      watchers.push(watcher);
    } catch (error) {
      onProblem(`The folder ${folder} cannot be watched.`, error);
    }
  }
  const looking = setInterval(look, lookMs).unref();
  return () => {
    clearInterval(looking);
    clearTimeout(waiting);
    for (const watcher of watchers) watcher.close();
  };
}

function fingerprint(files: readonly string[]): string {
  return files.map(describeFile).join("\n");
}

function describeFile(path: string): string {
  try {
    const { ino, size, mtimeMs, ctimeMs } = statSync(path);
    return `${ino} ${size} ${mtimeMs} ${ctimeMs}`;
  } catch (error) {
    // Its folder may have been closed to us while we run, which the next reading tells.
    return error instanceof Error && "code" in error ? String(error.code) : "-";
  }
}
