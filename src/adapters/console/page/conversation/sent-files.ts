/** Files of a message on their way: one that went with an attempt that failed later is not sent twice. */
import { sendFile, sendThumbnail } from "../api.ts";
import { drawThumbnail } from "./draw-thumbnail.ts";

const sent = new WeakMap<File, { thread: string; id: string }>();

/** Sends the file, with a small picture of it where it is one. @returns the id by which a message names it */
export async function sendOnce(thread: string, file: File): Promise<string> {
  const known = sent.get(file);
  if (known?.thread === thread) return known.id;
  const copy = await readWhole(file);
  const id = await sendFile(thread, copy);
  sent.set(file, { thread, id });
  const picture = await drawThumbnail(copy);
  // The file goes without one where that fails.
  if (picture) await sendThumbnail(thread, id, picture).catch(() => undefined);
  return id;
}

/** A browser gives nothing of a file that has changed on the disk; sent as it is, it would fail as if nothing answered. */
async function readWhole(file: File): Promise<File> {
  const { name, type } = file;
  try {
    return new File([await file.arrayBuffer()], name, { type });
  } catch {
    throw new Error(`${name} was changed or removed since it was attached: attach it again.`);
  }
}

/** The server may have dropped it: the next attempt sends it again. */
export function forgetSent(file: File): void {
  sent.delete(file);
}
