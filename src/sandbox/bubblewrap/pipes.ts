import { spawnSync } from "node:child_process";
import { closeSync, constants, mkdtempSync, openSync, rmSync } from "node:fs";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A pipe for the output of a program. */
export interface OutputPipe {
  /** To be handed to the program and then closed here, or the end would never come. */
  writeEnd: number;
  readEnd: Socket;
}

/** Not on a disk, if that can be: also where it is full, the agent must be able to delete. */
function newFolder(): string {
  try {
    return mkdtempSync("/dev/shm/heddle-");
  } catch {
    return mkdtempSync(join(tmpdir(), "heddle-"));
  }
}

/** O_PATH of Linux, which Node's constants lack: names a file without opening it. */
const O_PATH = 0o10000000;
const madeAtOnce = 32;

/**
 * Pipes for programs that open `/dev/stdout` or `/dev/stderr` by name: what Node calls a pipe is a socket, which
 * cannot be opened like that. Node cannot make pipes, so they are FIFOs, made a few at a time and unlinked at once.
 * None is used twice: a program can hand its own to a job of its thread, which then would have another thread's.
 */
export function createPipeSupply(): () => OutputPipe {
  const spare: number[] = [];
  return () => {
    if (spare.length === 0) spare.push(...makeFifos());
    const fifo = spare.pop();
    const path = `/proc/self/fd/${fifo}`;
    try {
      // The reader first, without waiting for a writer; then the writer does not wait either.
      const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
      const writeEnd = openSync(path, constants.O_WRONLY);
      return { writeEnd, readEnd: new Socket({ fd: reader, readable: true, writable: false }) };
    } finally {
      if (fifo !== undefined) closeSync(fifo);
    }
  };
}

function makeFifos(): number[] {
  const home = newFolder();
  try {
    const paths = Array.from({ length: madeAtOnce }, (_, index) => join(home, String(index)));
    // Everybody may open it who has it already: the sandbox's user is not the bot's when the bot is root.
    const made = spawnSync("mkfifo", ["-m", "666", ...paths], {
      env: { PATH: "/usr/bin:/bin" },
      encoding: "utf8",
    });
    if (made.error) throw made.error;
    if (made.status !== 0) throw new Error(`mkfifo failed in ${home}: ${made.stderr}`);
    return paths.map((path) => openSync(path, O_PATH));
  } finally {
    rmSync(home, { recursive: true });
  }
}
