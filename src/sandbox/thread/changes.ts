import { type Sandbox, workspaceRoot } from "../sandbox.ts";
import { longestEntryBytes, type RunScript, toFileFailure, unusablePath } from "./files.ts";

/** What was written is told of so many files, and what is gone where there were no more. */
const mostFiles = 10_000;

/** Arguments: entries to give, {@link unusablePath}. Prints the paths of files and links in the workspace, NUL after each. */
const noteScript = `
LC_ALL=C find . -path "$2" -prune -o '(' -name .git -type d -prune , '(' -type f -o -type l ')' -printf '%P\\0' ')' 2>/dev/null | head -z -n "$1"
`;

/**
 * Arguments: entries to give, {@link unusablePath}, tests of \`find\`; standard input: what \`noteScript\` printed. Prints what passes the
 * tests with a \`+\` before, and what is no longer there with a \`-\`.
 */
const changesScript = `
limit=$1 unusable=$2
shift 2
LC_ALL=C find . -path "$unusable" -prune -o '(' -name .git -type d -prune , -type f "$@" -printf '+%P\\0' ')' 2>/dev/null | LC_ALL=C sort -z | head -z -n "$limit"
LC_ALL=C sort -z | xargs -0 bash -c 'for path; do [ -f "$path" ] || [ -L "$path" ] || printf -- "-%s\\0" "$path"; done' bash
`;

/** Finds out what happens to a thread's files: which were written by their times, which are gone by a note. */
export function createFileChanges(run: RunScript) {
  let note: Note | undefined;

  async function list(): Promise<Buffer | undefined> {
    const { exitCode, stdout } = await run({
      script: noteScript,
      // One more than are noted tells that there are more.
      arguments: [String(mostFiles + 1), unusablePath],
      maxOutputBytes: (mostFiles + 1) * longestEntryBytes,
    });
    const count = stdout.toString("latin1").split("\0").length - 1;
    return exitCode === 0 && count <= mostFiles ? stdout : undefined;
  }

  async function write(next: Note): Promise<void> {
    next.files = await list();
    next.isWritten = true;
  }

  return {
    noteFiles(turn: string): void {
      if (note?.turn !== turn) note = { turn, isWritten: false };
    },
    /** What a command has to wait for; undefined when that is nothing. */
    ensureNote(): Promise<void> | undefined {
      if (!note || note.isWritten) return undefined;
      return (note.writing ??= write(note));
    },
    async changes(since: { modified: number; changed: number }): ReturnType<Sandbox["changes"]> {
      const before = note?.files ?? Buffer.alloc(0);
      note = undefined;
      const written = ["-newermt", `@${since.modified / 1_000}`];
      const result = await run({
        script: changesScript,
        arguments: [
          String(mostFiles),
          unusablePath,
          ...["(", ...written, "-o", "-newerct", `@${since.changed / 1_000}`, ")"],
        ],
        stdin: before,
        maxOutputBytes: 2 * mostFiles * longestEntryBytes,
      });
      if (result.exitCode !== 0) return toFileFailure(result, workspaceRoot);
      const records = result.stdout.toString().split("\0").slice(0, -1);
      const listMarked = (sign: string) =>
        records.filter((record) => record.startsWith(sign)).map((record) => record.slice(1));
      return { ok: true, changed: listMarked("+"), deleted: listMarked("-") };
    },
  };
}

interface Note {
  turn: string;
  /** As `noteScript` has printed them, so that any bytes may be in a name. */
  files?: Buffer | undefined;
  writing?: Promise<void>;
  isWritten: boolean;
}
