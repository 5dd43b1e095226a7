import { createReadStream, createWriteStream } from "node:fs";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { ExportFormat } from "./export.ts";

const block = 512;

/** Apart from any file of the workspace, whose paths begin with a point. */
const documents = [
  ["heddle-thread.md", "markdown"],
  ["heddle-thread.json", "json"],
] as const;

/**
 * A thread as a tar archive, in pieces: the conversation as two documents, then the files of its workspace. It lies in
 * the system's folder for temporary files meanwhile, since an entry begins with its size.
 *
 * @param writeFiles writes an archive of the workspace to that path; false where there is none
 */
export async function* exportArchive(
  write: (format: ExportFormat) => AsyncIterable<string>,
  writeFiles: (path: string) => Promise<boolean>,
  now: number,
): AsyncGenerator<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), "heddle-export-"));
  try {
    for (const [name, format] of documents) {
      const path = join(folder, name);
      await pipeline(write(format), createWriteStream(path, { mode: 0o600 }));
      const { size } = await stat(path);
      yield makeHeader(name, size, now);
      yield* readPieces(path);
      yield Buffer.alloc((block - (size % block)) % block);
    }
    const files = join(folder, "files.tar");
    // It has the end of the archive, too.
    if (await writeFiles(files)) yield* readPieces(files);
    else yield Buffer.alloc(2 * block);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function* readPieces(path: string): AsyncGenerator<Buffer> {
  // Without an encoding it yields Buffers.
  const pieces: AsyncIterable<Buffer> = createReadStream(path);
  yield* pieces;
}

/** Of an ordinary file, as POSIX.1-1988 (ustar) has it. */
function makeHeader(name: string, size: number, now: number): Buffer {
  const header = Buffer.alloc(block);
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, "0")}\0`;
  header.write(name, 0);
  header.write(octal(0o600, 7), 100);
  header.write(octal(0, 7), 108);
  header.write(octal(0, 7), 116);
  header.write(octal(size, 11), 124);
  header.write(octal(Math.floor(now / 1000), 11), 136);
  // Its own place counts as blanks.
  header.write(" ".repeat(8), 148);
  header.write("0", 156);
  header.write("ustar\x0000", 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${octal(sum, 6)} `, 148);
  return header;
}
