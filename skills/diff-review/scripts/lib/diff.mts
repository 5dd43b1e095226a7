import { isUtf8 } from "node:buffer";
import { fail } from "./command.mts";
import { readBytes, readLines } from "./lines.mts";

/** A line of a file's new side. */
export interface Line {
  number: number;
  sign: "+" | " ";
  text: string;
}

export interface ChangedFile {
  path: string;
  /** Its path before. */
  from: string;
  status: "changed" | "added" | "deleted" | "renamed";
  isBinary: boolean;
  isExecutable: boolean;
  added: number;
  removed: number;
  /** Of the new side; undefined stands between two hunks. */
  lines: (Line | undefined)[];
}

/** The files of a unified diff, in its order; none when it is no diff. `-` is standard input. */
export async function readDiff(path: string): Promise<ChangedFile[]> {
  const parser = new Parser();
  for await (const lines of readLines(readBytes(path))) {
    for (const line of lines) parser.take(line);
  }
  return parser.files;
}

class Parser {
  readonly files: ChangedFile[] = [];
  #file: ChangedFile | undefined;
  /** The file began with a header of git's. */
  #isGit = false;
  /** The file's +++ has been seen. */
  #hasNew = false;
  #oldLeft = 0;
  #newLeft = 0;
  #number = 0;

  take(line: string): void {
    if (this.#file && (this.#oldLeft > 0 || this.#newLeft > 0)) this.#takeHunk(this.#file, line);
    else this.#takeHeader(line);
  }

  #takeHunk(file: ChangedFile, line: string): void {
    const sign = line.charAt(0);
    if (sign === "\\") return;
    if (sign === "-") {
      file.removed++;
      this.#oldLeft--;
      return;
    }
    if (sign === "+") file.added++;
    else this.#oldLeft--;
    this.#newLeft--;
    file.lines.push({ number: this.#number++, sign: sign === "+" ? "+" : " ", text: line.slice(1) });
  }

  #takeHeader(line: string): void {
    if (/^diff --(?:cc|combined) /.test(line))
      fail("this is the combined diff of a merge; make one against a single commit, as in: git diff HEAD");
    const [, before, after] = /^diff --git "?a\/(.+?)"? "?b\/(.+?)"?$/s.exec(line) ?? [];
    if (before !== undefined && after !== undefined) {
      this.#open(unquote(after), unquote(before), true);
      return;
    }
    const old = /^--- (?:"?a\/)?(.+?)"?(?:\t.*)?$/s.exec(line)?.[1];
    if (old !== undefined) {
      // Without a git header a file begins here.
      const path = unquote(old);
      const file = this.#file && this.#isGit && !this.#hasNew ? this.#file : this.#open(path, path, false);
      if (old === "/dev/null") file.status = "added";
      return;
    }
    if (this.#file) this.#takeFileHeader(this.#file, line);
  }

  #open(path: string, from: string, isGit: boolean): ChangedFile {
    const file: ChangedFile = {
      path,
      from,
      status: "changed",
      isBinary: false,
      isExecutable: false,
      added: 0,
      removed: 0,
      lines: [],
    };
    this.files.push(file);
    [this.#file, this.#isGit, this.#hasNew] = [file, isGit, false];
    return file;
  }

  #takeFileHeader(file: ChangedFile, line: string): void {
    const path = /^\+\+\+ (?:"?b\/)?(.+?)"?(?:\t.*)?$/s.exec(line)?.[1];
    if (path !== undefined) {
      this.#hasNew = true;
      if (path === "/dev/null") file.status = "deleted";
      else file.path = unquote(path);
      return;
    }
    const hunk = /^@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(line);
    if (hunk) {
      const [, oldCount = "1", number, newCount = "1"] = hunk;
      [this.#oldLeft, this.#number, this.#newLeft] = [Number(oldCount), Number(number), Number(newCount)];
      if (file.lines.length > 0) file.lines.push(undefined);
    } else takeGitHeader(file, line);
  }
}

function takeGitHeader(file: ChangedFile, line: string): void {
  const [, isNew, mode] = /^new (file )?mode (\d+)/.exec(line) ?? [];
  if (isNew !== undefined) file.status = "added";
  if (mode === "100755") file.isExecutable = true;
  if (line.startsWith("deleted file mode")) file.status = "deleted";
  if (/^(?:Binary files|GIT binary patch)/.test(line)) file.isBinary = true;
  const from = /^rename from (.+)/s.exec(line)?.[1];
  if (from !== undefined) [file.status, file.from] = ["renamed", unquote(from.replaceAll(/^"|"$/g, ""))];
}

/** A path as git writes it in quotes, with its letters; what would break a line stays an escape. */
function unquote(path: string): string {
  if (!path.includes("\\")) return path;
  const bytes = Buffer.from(path)
    .toString("latin1")
    .replaceAll(/\\(?:([2-3][0-7]{2})|(["\\]))/g, (_, octal: string | undefined, sign: string) =>
      octal === undefined ? sign : String.fromCharCode(Number.parseInt(octal, 8)),
    );
  const name = Buffer.from(bytes, "latin1");
  return isUtf8(name) ? name.toString() : path;
}
