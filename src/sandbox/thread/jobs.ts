import { randomBytes } from "node:crypto";
import { type FileHandle, open, unlink } from "node:fs/promises";
import { join } from "node:path";
import type { Job, JobStatus, KillReport } from "../sandbox.ts";
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
 * A file for the first `limit` bytes of an output. It has no name once it is open, so that nothing is left behind
 * however this process ends.
 */
function outputFile(path: string, limit: number) {
  const file: Promise<FileHandle> = open(path, "wx+", 0o600).then(async (handle) => {
    await unlink(path);
    return handle;
  });
  let total = 0;
  // One after the other, at explicit positions.
  let written: Promise<unknown> = file.catch(() => {});
  return {
    append(chunk: Buffer, onFailure: () => void): void {
      const part = chunk.subarray(0, limit - total);
      if (part.length === 0) return;
      const position = total;
      total += part.length;
      written = written.then(async () => (await file).write(part, 0, part.length, position)).catch(onFailure);
    },
    written: () => written,
    async read(offset: number, maxBytes: number) {
      await written;
      const length = Math.max(0, Math.min(maxBytes, total - offset));
      const { buffer, bytesRead } = await (await file).read(Buffer.alloc(length), 0, length, offset);
      return { data: buffer.subarray(0, bytesRead), next: offset + bytesRead, total };
    },
    close: () =>
      file.then(
        (handle) => handle.close(),
        () => {}, // It could not be opened.
      ),
  };
}
