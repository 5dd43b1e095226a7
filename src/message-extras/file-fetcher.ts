import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { imageType, maxImageBytes } from "../agent/images/images.ts";
import type { AttachmentHandle, Image } from "../agent/messages.ts";
import { type ChatSurface, SurfaceError } from "../chat/surface.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { numberName, sanitizeFileName } from "./file-name.ts";

export interface FileLimits {
  /** Files of one message. */
  files: number;
  /** Bytes of one file, and of all files of a message. */
  fileBytes: number;
  messageBytes: number;
  /** For one file, in milliseconds. */
  downloadMs: number;
}

/** Where files go and who sees them. */
export interface Destination {
  surface: ChatSurface;
  /** Absent where there is no place for files. */
  sandbox?: Sandbox;
  /** Whether the model sees images. */
  images: boolean;
  signal: AbortSignal;
}

/** The folder of the workspace that files are written to. */
const folder = "attachments";

/** How many images of one message the model sees with it; it may open the others. */
const shownImages = 8;

/** Their bytes: what the model sees is kept in the journal, in Redis, and goes along with each request. */
const shownImageBytes = 8 * 1024 * 1024;

/** How often one file is tried, and the pause before the second time, in milliseconds, which doubles. */
const mostTries = 3;
const firstPauseMs = 1_000;

/** How many files one process holds in memory at a time. */
const atOnce = 4;

/** Why a file could not be fetched; the text is for the model and for people. */
class FileProblem extends Error {
  override readonly name = "FileProblem";
}

/** Fetches the files of messages into workspaces. */
export interface FileFetcher {
  /** Gives one line for each file, and the images to show. A file that fails does not affect the others. Rejects when aborted. */
  bring(files: readonly AttachmentHandle[], to: Destination): Promise<{ lines: string[]; images: Image[] }>;
}

/** @param onProblem receives unexpected failures; the model only learns that there was one */
export function createFileFetcher(
  limits: FileLimits,
  onProblem: (problem: string, error: unknown) => void,
): FileFetcher {
  const slots = createSlots(atOnce);

  return {
    async bring(files, to) {
      const lines: string[] = [];
      const images: Image[] = [];
      let [bytes, imageBytes] = [0, 0];
      for (const [index, file] of files.entries()) {
        const release = await slots.enter();
        try {
          to.signal.throwIfAborted();
          if (index >= limits.files) throw new FileProblem(`a message may bring ${limits.files} files`);
          const { handle, data } = await fetchFile(file, to, limits, limits.messageBytes - bytes);
          bytes += data.length;
          const hasRoom = images.length < shownImages && imageBytes + data.length <= shownImageBytes;
          const sight = show(data, { wanted: to.images, hasRoom });
          if (typeof sight === "object") {
            images.push(sight);
            imageBytes += data.length;
          }
          lines.push(`- ${await place(handle, data, to, sight)}`);
        } catch (error) {
          to.signal.throwIfAborted();
          const isExpected = error instanceof FileProblem;
          if (!isExpected) onProblem("A file that came with a message could not be brought in.", error);
          const why = isExpected ? error.message : "it could not be read; Heddle's log says why";
          lines.push(`- not brought: ${sanitizeFileName(file.name)}: ${why}`);
        } finally {
          release();
        }
      }
      return { lines, images };
    },
  };
}

/** Tries again while the platform fails and time is left. */
async function fetchFile(
  file: AttachmentHandle,
  { surface, signal }: Destination,
  limits: FileLimits,
  left: number,
): Promise<{ handle: AttachmentHandle; data: Buffer }> {
  const deadline = AbortSignal.timeout(limits.downloadMs);
  const either = AbortSignal.any([signal, deadline]);
  for (let tries = 1; ; tries += 1) {
    try {
      return await fetchOnce(file, surface, either, limits.fileBytes, left);
    } catch (error) {
      if (error instanceof SurfaceError) {
        const pauseMs = Math.max(error.retryAfterMs, firstPauseMs * 2 ** (tries - 1));
        if (error.isPassing && tries < mostTries && (await waits(pauseMs, either))) continue;
        throw new FileProblem(error.message);
      }
      if (deadline.aborted && !signal.aborted) {
        throw new FileProblem(`it did not arrive within ${limits.downloadMs / 1_000} seconds`);
      }
      throw error;
    }
  }
}

async function fetchOnce(
  file: AttachmentHandle,
  surface: ChatSurface,
  signal: AbortSignal,
  fileBytes: number,
  left: number,
): Promise<{ handle: AttachmentHandle; data: Buffer }> {
  const handle = (await surface.details?.(file, signal)) ?? file;
  const most = Math.min(fileBytes, left);
  const tooLarge = () => {
    const limit = most === fileBytes ? "the limit of a file" : "what is left for one message";
    return new FileProblem(`it is larger than ${formatMegabytes(most)}, ${limit}`);
  };
  if (handle.bytes > most) throw tooLarge();
  if (!surface.download) throw new FileProblem("files of this platform cannot be read");
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of surface.download(handle, signal)) {
    bytes += chunk.length;
    if (bytes > most) throw tooLarge();
    chunks.push(chunk);
  }
  return { handle, data: Buffer.concat(chunks) };
}

/** Whether the time has passed before the signal was aborted. */
async function waits(ms: number, signal: AbortSignal): Promise<boolean> {
  return await sleep(ms, true, { signal }).catch(() => false);
}

/** Writes the file and says in one line where it is. */
async function place(
  { name, mediaType }: AttachmentHandle,
  data: Buffer,
  { sandbox, signal }: Destination,
  sight: Sight,
): Promise<string> {
  const isShown = typeof sight === "object";
  const shown = isShown
    ? "; you see it with this message"
    : sight === undefined
      ? ""
      : `; not shown: ${sight}`;
  const kind = /^[\w.+-]{1,60}\/[\w.+-]{1,60}$/.test(mediaType) ? `${mediaType}, ` : "";
  const facts = `(${kind}${data.length} bytes${shown})`;
  const safe = sanitizeFileName(name);
  if (!sandbox) {
    if (isShown) return `${safe} ${facts}`;
    throw new FileProblem("there is no sandbox on this host, so there is no place for files");
  }
  const sha256 = createHash("sha256").update(data).digest("hex");
  for (const free of listNames(safe, sha256)) {
    const path = `${folder}/${free}`;
    const written = await sandbox.writeFile(path, data, { ifSha256: null, signal });
    if (written.ok) return `${path} ${facts}`;
    if (written.reason !== "conflict") throw new FileProblem(written.message);
    // Written before by a worker that died, or sent twice: the same content is the same file.
    const same = await sandbox.writeFile(path, data, { ifSha256: sha256, signal });
    if (same.ok) return `${path} ${facts}`;
    if (same.reason !== "conflict" && same.reason !== "not-found") throw new FileProblem(same.message);
  }
  throw new FileProblem(
    `${folder} holds too many files of this name; delete or rename some and send it again`,
  );
}

/** How many files of one name are distinguished by a number; many platforms give every picture the same name. */
const mostNumbered = 5;

/** Names to try: each costs two calls to the sandbox, so after some numbers comes one derived from the content. */
function listNames(name: string, sha256: string): string[] {
  const numbered = Array.from({ length: mostNumbered }, (_, index) => numberName(name, String(index + 1)));
  return [...numbered, numberName(name, sha256.slice(0, 12))];
}

/** How the model sees a file: as that image, or not although it is one, with the reason; undefined where it is none. */
type Sight = Image | string | undefined;

function show(data: Buffer, { wanted, hasRoom }: { wanted: boolean; hasRoom: boolean }): Sight {
  const mediaType = imageType(data);
  if (!mediaType || !wanted) return undefined;
  if (data.length > maxImageBytes)
    return `larger than ${formatMegabytes(maxImageBytes)}; make a smaller copy and look at that`;
  if (!hasRoom) return "too many at once; look at it with read_file";
  return { mediaType, data: data.toString("base64") };
}

function formatMegabytes(bytes: number): string {
  return `${Math.round((bytes / 1_048_576) * 10) / 10} MB`;
}

/** A semaphore. */
function createSlots(free: number): { enter(): Promise<() => void> } {
  const waiting: (() => void)[] = [];
  const leave = () => {
    const next = waiting.shift();
    if (next) next();
    else free += 1;
  };
  return {
    async enter() {
      if (free > 0) free -= 1;
      else await new Promise<void>((resolve) => waiting.push(resolve));
      return leave;
    },
  };
}
