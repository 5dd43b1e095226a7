import { closeSync, openSync, readSync, writeSync } from "node:fs";
import { RedisUnavailable } from "../../unavailable.ts";
import { decodeRecord, type Effect } from "./record.ts";

/** The first line names the format; a Heddle that knows only another one refuses the file. */
export const header = Buffer.from("heddle embedded redis 1\n");

const chunkBytes = 1 << 20;

/**
 * @param mayBeTorn whether the writer may have been interrupted: then what follows the last whole record is left out
 * @throws {RedisUnavailable} when the file is damaged in another way
 */
export function replayRecords(
  file: string,
  mayBeTorn: boolean,
  onRecord: (effects: Effect[]) => void,
): { end: number; torn: number } {
  const createDamageError = (at: number) =>
    new RedisUnavailable(
      `The embedded Redis's file ${file} is damaged at byte ${at}: restore it, or move its folder away to start empty.`,
    );
  let position = 0;
  let end = 0;
  let broken: number | undefined;
  for (const line of readLines(file)) {
    const at = position;
    position += line.bytes.length + (line.ended ? 1 : 0);
    if (at === 0) {
      if (line.ended && !line.bytes.equals(header.subarray(0, -1))) throw createDamageError(0);
      if (line.ended) end = position;
      continue;
    }
    const effects = line.ended ? decodeRecord(line.bytes) : undefined;
    // An interrupted write leaves nothing whole behind it.
    if (effects && broken !== undefined) throw createDamageError(broken);
    if (effects) {
      onRecord(effects);
      end = position;
    } else broken ??= at;
  }
  if (position > end && !mayBeTorn) throw createDamageError(end);
  return { end, torn: position - end };
}

function* readLines(file: string): Generator<{ bytes: Buffer; ended: boolean }> {
  const handle = openSync(file, "r");
  try {
    const chunk = Buffer.allocUnsafeSlow(chunkBytes);
    let rest: Buffer[] = [];
    for (;;) {
      const size = readSync(handle, chunk);
      if (size === 0) break;
      let from = 0;
      for (let to = chunk.indexOf(0x0a); to !== -1 && to < size; to = chunk.indexOf(0x0a, from)) {
        yield { bytes: Buffer.concat([...rest, chunk.subarray(from, to)]), ended: true };
        rest = [];
        from = to + 1;
      }
      if (from < size) rest.push(Buffer.from(chunk.subarray(from, size)));
    }
    if (rest.length > 0) yield { bytes: Buffer.concat(rest), ended: false };
  } finally {
    closeSync(handle);
  }
}

/** @param onWritten hears of each part that is in the file, also when the rest fails */
export function writeAll(handle: number, data: Buffer, onWritten: (bytes: number) => void = () => undefined) {
  for (let done = 0; done < data.length; ) {
    const written = writeSync(handle, data, done);
    done += written;
    onWritten(written);
  }
}
