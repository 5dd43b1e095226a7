import type { OutputStream } from "./spawner.ts";

/** Keeps the first `limit` bytes of both streams together and counts the rest. */
export function collectOutput(limit: number) {
  const kept: Record<OutputStream, GrowingBytes> = { stdout: new GrowingBytes(), stderr: new GrowingBytes() };
  let room = limit;
  let droppedBytes = 0;
  return {
    take(stream: OutputStream, chunk: Buffer): void {
      const part = chunk.subarray(0, room);
      kept[stream].add(part, room);
      room -= part.length;
      droppedBytes += chunk.length - part.length;
    },
    result: () => ({ stdout: kept.stdout.all(), stderr: kept.stderr.all(), droppedBytes }),
  };
}

/** Bytes in one piece: a program may write byte by byte, and a chunk for each of them takes hundreds of times as much. */
export class GrowingBytes {
  #bytes = Buffer.alloc(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** @param room how much there will be from here on, at most */
  add(part: Buffer, room: number): void {
    const needed = this.#length + part.length;
    if (needed > this.#bytes.length) {
      const larger = Buffer.alloc(Math.max(needed, Math.min(2 * this.#bytes.length, this.#length + room)));
      this.#bytes.copy(larger, 0, 0, this.#length);
      this.#bytes = larger;
    }
    part.copy(this.#bytes, this.#length);
    this.#length = needed;
  }

  all(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }
}
