/**
 * What runs inside the thread's sandbox to keep files and to bring them back, where its links lead nowhere else. The
 * source of both functions goes there as text, so they use nothing but what is in them.
 */

/**
 * Standard input: paths relative to the working folder, NUL after each. Appends their content to `pack` and prints the
 * length of each, -1 for what is no file (any more).
 */
export function packFiles(pack: string): void {
  const fs = process.getBuiltinModule("node:fs");
  const paths = fs.readFileSync(0).toString("latin1").split("\0").slice(0, -1);
  const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = fs.constants;
  const out = fs.openSync(pack, "w");
  const buffer = Buffer.allocUnsafe(1_048_576);
  const lengths: number[] = [];

  /** No more than it had at first: a command may go on writing to it. */
  const copy = (file: number, size: number): number => {
    let length = 0;
    while (length < size) {
      const read = fs.readSync(file, buffer, 0, Math.min(buffer.length, size - length), null);
      if (read === 0) break;
      for (let from = 0; from < read; ) from += fs.writeSync(out, buffer, from, read - from);
      length += read;
    }
    return length;
  };

  for (const path of paths) {
    let file: number | undefined;
    try {
      file = fs.openSync(Buffer.from(path, "latin1"), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    } catch {
      lengths.push(-1);
      continue;
    }
    const status = fs.fstatSync(file);
    lengths.push(status.isFile() ? copy(file, status.size) : -1);
    fs.closeSync(file);
  }
  fs.closeSync(out);
  process.stdout.write(lengths.map((length) => `${length}\n`).join(""));
}

/**
 * Makes what standard input lists in the working folder, which is empty: type, mode, time, length, path and target, NUL
 * after each. The content of the files stands in `pack`, one behind the other.
 */
export function unpackFiles(pack: string): void {
  const fs = process.getBuiltinModule("node:fs");
  const fields = fs.readFileSync(0).toString("latin1").split("\0");
  const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = fs.constants;
  const source = fs.openSync(pack, "r");
  const buffer = Buffer.allocUnsafe(1_048_576);
  const folders: { path: Buffer; mode: number; time: number }[] = [];

  const copy = (file: number, length: number): void => {
    for (let left = length; left > 0; ) {
      const read = fs.readSync(source, buffer, 0, Math.min(buffer.length, left), null);
      if (read === 0) throw new Error("The kept files end too early.");
      for (let from = 0; from < read; ) from += fs.writeSync(file, buffer, from, read - from);
      left -= read;
    }
  };

  for (let index = 0; index + 5 < fields.length; index += 6) {
    const [type, octal = "", time, length, name = "", target = ""] = fields.slice(index, index + 6);
    const path = Buffer.from(name, "latin1");
    const mode = Number.parseInt(octal, 8) & 0o7777;
    if (type === "d") {
      fs.mkdirSync(path);
      folders.push({ path, mode, time: Number(time) });
    } else if (type === "l") {
      fs.symlinkSync(Buffer.from(target, "latin1"), path);
      fs.lutimesSync(path, Number(time), Number(time));
    } else {
      const file = fs.openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
      copy(file, Number(length));
      fs.fchmodSync(file, mode);
      fs.futimesSync(file, Number(time), Number(time));
      fs.closeSync(file);
    }
  }
  // Last, as a folder may be shut for its owner, and changes with what is made in it.
  for (const { path, mode, time } of folders.toReversed()) {
    fs.utimesSync(path, time, time);
    fs.chmodSync(path, mode);
  }
}

/**
 * A program for Node that runs one of them with its argument, and says why it has failed in one line: people are told that.
 * Types are stripped when this process loads it.
 */
export function insideProgram(run: (pack: string) => void): string {
  return `try { (${run.toString()})(process.argv[1]); } catch (error) { console.error(error.message); process.exitCode = 1; }`;
}
