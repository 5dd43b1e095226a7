import { randomBytes } from "node:crypto";
import { type FileHandle, open, unlink } from "node:fs/promises";
import { join } from "node:path";
import type { Job, JobStatus, KillReport } from "../sandbox.ts";
import { GrowingBytes } from "./output.ts";
import type { Launched, OutputStream } from "./spawner.ts";

/** A background job and the output that it has left. */
export interface TrackedJob {
  job: Job;
  /** Gives the output's file back; nothing can be read afterwards. Only for an ended job. */
  release(): Promise<void>;
}

/** Starts a job whose output goes to a file in `folder`, which tenants do not see. */
export function startJob(request: {
  command: string;
  folder: string;
  maxOutputBytes: number;
  launch(onOutput: (stream: OutputStream, chunk: Buffer) => void): Launched;
  kill(launched: Launched): Promise<KillReport>;
}): TrackedJob {
  const id = `job-${randomBytes(3).toString("hex")}`;
  const output = outputFile(join(request.folder, `${id}-${process.pid}`), request.maxOutputBytes);
  const launched = request.launch((_stream, chunk) => output.append(chunk, () => launched.kill("disk")));
  let status: JobStatus = { state: "running" };
  const ended = launched.ended.then(async ({ end, exitCode }) => {
    await output.written();
    status = { state: "ended", end, exitCode, endedAt: Date.now() };
    return status;
  });
  return {
    release: output.close,
    job: {
      id,
      command: request.command,
      startedAt: Date.now(),
      status: () => status,
      read: output.read,
      wait: () => ended,
      async kill() {
        const report = await request.kill(launched);
        await ended;
        return report;
      },
    },
  };
}

/**
 * A file for the last `limit` bytes of an output: what a server says when it fails comes last. They lie in a circle, byte
 * n at n modulo `limit`. It has no name once it is open, so that nothing is left behind however this process ends.
 */
function outputFile(path: string, limit: number) {
  const file: Promise<FileHandle> = open(path, "wx+", 0o600).then(async (handle) => {
    await unlink(path);
    return handle;
  });
  /** How many bytes have come, and how many of them have had their turn to be written. */
  let total = 0;
  let done = 0;
  let waiting: { data: GrowingBytes; end: number }[] = [];
  const pieceBytes = Math.min(65_536, limit);
  let isToWrite = false;
  // One after the other, at explicit positions.
  let last: Promise<unknown> = file.catch(() => {});

  /** The places in the file of the bytes from `start` to `end`, at most `limit` of them, which may go over its end. */
  function placesOf(start: number, end: number) {
    const position = start % limit;
    const first = Math.min(end - start, limit - position);
    return [
      { position, from: 0, length: first },
      { position: 0, from: first, length: end - start - first },
    ].filter(({ length }) => length > 0);
  }

  function keepWaiting(data: Buffer): void {
    let piece = waiting.at(-1);
    if (!piece || piece.data.length + data.length > pieceBytes) {
      piece = { data: new GrowingBytes(), end: total };
      waiting.push(piece);
    }
    piece.data.add(data, pieceBytes - piece.data.length);
    piece.end = total;
  }

  async function writeWaiting(): Promise<void> {
    const parts = waiting;
    waiting = [];
    isToWrite = false;
    const handle = await file;
    for (const { data, end } of parts) {
      for (const { position, from, length } of placesOf(end - data.length, end)) {
        await handle.write(data.all(), from, length, position);
      }
      done = end;
    }
  }

  async function readKept(offset: number, maxBytes: number) {
    const start = Math.max(offset, total - limit);
    const end = Math.max(start, Math.min(start + maxBytes, done));
    const data = Buffer.alloc(end - start);
    const handle = await file;
    for (const { position, from, length } of placesOf(start, end)) {
      await handle.read(data, from, length, position);
    }
    return { data, next: end, total: done };
  }

  return {
    append(chunk: Buffer, onFailure: () => void): void {
      if (chunk.length === 0) return;
      total += chunk.length;
      keepWaiting(chunk.subarray(-limit));
      // Where a disk is slow, no more of it waits in memory than the file would keep.
      while (waiting[0] && waiting[0].end <= total - limit) waiting.shift();
      if (isToWrite) return;
      isToWrite = true;
      last = last.then(writeWaiting).catch(onFailure);
    },
    written: () => last,
    read(offset: number, maxBytes: number) {
      const reading = last.then(() => readKept(offset, maxBytes));
      last = reading.catch(() => {});
      return reading;
    },
    close: () =>
      file.then(
        (handle) => handle.close(),
        () => {}, // It could not be opened.
      ),
  };
}
