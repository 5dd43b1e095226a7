import { isUtf8 } from "node:buffer";
import { open } from "node:fs/promises";
import { basename } from "node:path";
import type { Readable } from "node:stream";
import { UsageError } from "../usage-error.ts";

/** A file that goes along with a task. */
export interface TaskFile {
  name: string;
  mediaType: string;
  data: Buffer;
}

/** What the person wants, and the files that go along. */
export interface TaskInput {
  text: string;
  files: TaskFile[];
}

interface Given {
  words: readonly string[];
  paths: readonly string[];
  stdin: Readable & { isTTY?: boolean };
  /** The largest file, in bytes. */
  maxBytes: number;
  /** How long a silent pipe is waited for when there is a task without it, in ms. */
  patienceMs: number;
  warn(sentence: string): void;
}

const mebibyte = 1_048_576;
/** Longer text goes along as a file, so that the task stays readable. */
const textBytes = 20_000;

/**
 * The task: its words, the files that are named, and what is piped in. Piped text is the task where there are no words;
 * otherwise it goes along with them.
 *
 * @throws UsageError where there is no task, or a file cannot be read
 */
export async function readTaskInput(given: Given): Promise<TaskInput> {
  const words = given.words.join(" ").trim();
  const files: TaskFile[] = [];
  for (const path of given.paths) files.push(await readTaskFile(path, given.maxBytes));
  const piped = await readPiped(given, words === "");
  if (piped.length === 0 && words === "")
    throw new UsageError('There is no task: write heddle run "what to do", or pipe it in.');
  const isText = piped.length <= textBytes && !piped.includes(0);
  if (words === "" && !isText)
    throw new UsageError(
      `What is piped in has more than ${textBytes.toLocaleString("en-US")} bytes or is no text: say what to do with it, as in heddle run "explain this" < file.`,
    );
  // What is in none of today's encodings is most often in that of Windows, which has one for every byte.
  const encoding = isUtf8(piped) ? "utf-8" : "windows-1252";
  if (words === "") return { text: new TextDecoder(encoding).decode(piped).trim(), files };
  if (piped.length > 0) {
    const mediaType = piped.includes(0) ? "application/octet-stream" : "text/plain";
    files.push({ name: "stdin.txt", mediaType, data: piped });
  }
  return { text: words, files };
}

async function readTaskFile(path: string, maxBytes: number): Promise<TaskFile> {
  try {
    const file = await open(path);
    try {
      if ((await file.stat()).isDirectory()) throw new Error("it is a folder");
      const chunks: Buffer[] = [];
      let bytes = 0;
      // Of a pipe or a device no size is known.
      for await (const chunk of file.createReadStream({ autoClose: false }) as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        if (bytes > maxBytes) throw new Error(sayLimit(maxBytes));
        chunks.push(chunk);
      }
      return { name: basename(path), mediaType: "application/octet-stream", data: Buffer.concat(chunks) };
    } finally {
      await file.close();
    }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UsageError(`--file ${path} cannot be read: ${why}.`);
  }
}

function sayLimit(bytes: number): string {
  return `more than ${bytes / mebibyte} MiB cannot go along`;
}

/** @param isNeeded whether it is the task itself, which is waited for to its end */
async function readPiped({ stdin, maxBytes, patienceMs, warn }: Given, isNeeded: boolean): Promise<Buffer> {
  if (stdin.isTTY) return Buffer.alloc(0);
  const chunks: Buffer[] = [];
  let bytes = 0;
  // A parent that leaves its pipe open and writes nothing must not hold up a task that needs nothing from it.
  const silence = isNeeded
    ? undefined
    : setTimeout(() => {
        warn(`Nothing came through the pipe within ${patienceMs / 1_000} s: going on without it.`);
        stdin.destroy();
      }, patienceMs);
  try {
    for await (const chunk of stdin) {
      clearTimeout(silence);
      const data = Buffer.from(chunk as string | Uint8Array); // A stream without an encoding gives bytes, with one strings.
      bytes += data.length;
      if (bytes > maxBytes) throw new UsageError(`Of what is piped in, ${sayLimit(maxBytes)}.`);
      chunks.push(data);
    }
  } catch (error) {
    if (error instanceof UsageError || !stdin.destroyed || bytes > 0) throw error;
  } finally {
    clearTimeout(silence);
  }
  return Buffer.concat(chunks);
}
