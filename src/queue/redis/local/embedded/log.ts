import { closeSync, fdatasync, fsyncSync, ftruncateSync, openSync } from "node:fs";
import { promisify } from "node:util";
import { listFiles, logName, syncFolder } from "./files.ts";
import { encodeRecord, type Effect } from "./record.ts";
import { header, writeAll } from "./record-file.ts";

const syncData = promisify(fdatasync);

/** The log that is being written. */
export interface Log {
  /** Writes one record. When that fails it is kept and tried again: see `failure`. */
  append(effects: readonly Effect[]): void;
  /** Why what was appended may not be answered; asking tries to write what is left. */
  failure(): string | undefined;
  /** Size of the file. */
  bytes(): number;
  /** What is in the file is on the disk afterwards. */
  sync(): Promise<void>;
  /** Goes on in the next file, and returns its number. Not during a `sync`. */
  rotate(): number;
  close(): void;
}

/**
 * Goes on with the last log, or begins the first one.
 * @param end where its last whole record ends; what follows is dropped
 */
export function openLog(folder: string, end: number): Log {
  const { base, logs } = listFiles(folder);
  const last = logs.at(-1);
  let number = last ?? base ?? 1;
  let handle = openSync(logName(folder, number), "a", 0o600);
  let bytes = 0;
  /** Not in the file yet. */
  let unwritten: Buffer = Buffer.alloc(0);
  let isDirty = false;
  let writeFailure: string | undefined;
  let syncFailure: string | undefined;

  function write(data: Buffer): void {
    unwritten = unwritten.length === 0 ? data : Buffer.concat([unwritten, data]);
    isDirty = true;
    try {
      writeAll(handle, unwritten, (written) => {
        bytes += written;
        unwritten = unwritten.subarray(written);
      });
      writeFailure = undefined;
    } catch (error) {
      writeFailure = String(error);
    }
  }

  ftruncateSync(handle, last === undefined ? 0 : end);
  bytes = last === undefined ? 0 : end;
  if (bytes === 0) write(header);
  fsyncSync(handle);
  syncFolder(folder);

  return {
    append: (effects) => write(encodeRecord(effects)),
    failure() {
      if (writeFailure !== undefined) write(Buffer.alloc(0));
      return writeFailure ?? syncFailure;
    },
    bytes: () => bytes,
    async sync() {
      if (!isDirty) return;
      isDirty = false;
      try {
        await syncData(handle);
        syncFailure = undefined;
      } catch (error) {
        isDirty = true;
        syncFailure = String(error);
      }
    },
    rotate() {
      // Only the last file may be torn.
      fsyncSync(handle);
      const next = openSync(logName(folder, number + 1), "a", 0o600);
      closeSync(handle);
      handle = next;
      number++;
      bytes = 0;
      write(header);
      fsyncSync(handle);
      syncFolder(folder);
      return number;
    },
    close() {
      if (unwritten.length > 0) write(Buffer.alloc(0));
      fsyncSync(handle);
      closeSync(handle);
    },
  };
}
