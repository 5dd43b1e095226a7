import type { OutputStream } from "./spawner.ts";

/** Keeps the first `limit` bytes of both streams together and counts the rest. */
export function collectOutput(limit: number) {
  const kept: Record<OutputStream, Buffer[]> = { stdout: [], stderr: [] };
  let room = limit;
  let droppedBytes = 0;
  return {
    take(stream: OutputStream, chunk: Buffer): void {
      const part = chunk.subarray(0, room);
      if (part.length > 0) kept[stream].push(part);
      room -= part.length;
      droppedBytes += chunk.length - part.length;
    },
    result: () => ({ stdout: Buffer.concat(kept.stdout), stderr: Buffer.concat(kept.stderr), droppedBytes }),
  };
}
