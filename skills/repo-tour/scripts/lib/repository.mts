import { isUtf8 } from "node:buffer";
import { lstatSync, readFileSync } from "node:fs";
import { askGit } from "./git.mts";

/** Larger files are not counted, in bytes. */
const largestCounted = 5_000_000;
/** Larger manifests are not read, in bytes. */
const largestText = 1_000_000;
const newline = 10;

export interface RecentCommit {
  author: string;
  files: string[];
}

/** A git repository, which is read only: nothing of it is run. */
export class Repository {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  /** The lines that git prints; none when it fails. */
  lines(...args: string[]): string[] {
    return splitEnded(askGit(this.path, ...args), "\n");
  }

  files(): string[] {
    return splitEnded(askGit(this.path, "ls-files", "-z"), "\0");
  }

  /** @param since seconds since 1970 */
  recentCommits(since: number): RecentCommit[] {
    const commits: RecentCommit[] = [];
    const format = "--format=%x1e%aN";
    for (const line of this.lines("log", "--no-merges", "--name-only", `--since=${since}`, format)) {
      if (line.startsWith("\x1E")) commits.push({ author: line.slice(1), files: [] });
      else if (line !== "") commits.at(-1)?.files.push(line);
    }
    return commits;
  }

  /** Lines of each file that is text. */
  countLines(files: readonly string[]): Map<string, number> {
    const counts = new Map<string, number>();
    for (const file of files) {
      const content = this.#read(file, largestCounted);
      const count = content === undefined || content.includes(0) ? 0 : countNewlines(content);
      if (count > 0) counts.set(file, count);
    }
    return counts;
  }

  text(file: string): string | undefined {
    const content = this.#read(file, largestText);
    return content?.toString(isUtf8(content) ? "utf8" : "latin1");
  }

  /** Links are not followed: they may lead out of the repository. */
  #read(file: string, largest: number): Buffer | undefined {
    const path = `${this.path}/${file}`;
    const status = lstatSync(path, { throwIfNoEntry: false });
    if (!status?.isFile() || status.size > largest) return undefined;
    try {
      return readFileSync(path);
    } catch {
      return undefined;
    }
  }
}

/** What each separator ends; nothing of an empty text. */
function splitEnded(text: string | undefined, separator: string): string[] {
  if (!text) return [];
  return (text.endsWith(separator) ? text.slice(0, -1) : text).split(separator);
}

function countNewlines(content: Buffer): number {
  let count = 0;
  for (const byte of content) if (byte === newline) count++;
  return count;
}
