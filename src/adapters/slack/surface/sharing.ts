import type { WebClient } from "@slack/web-api";
import { SurfaceError } from "../../../chat/surface.ts";
import type { ThreadRef } from "../../../chat/threads.ts";
import { createWebClient, refusalCode, type SlackAccess } from "../connection/web.ts";
import { toSurfaceError } from "./errors.ts";

/** Of a file of any size, ms. */
export const uploadMs = 300_000;

interface SharedFile {
  name: string;
  data: Uint8Array;
  comment?: string;
}

/**
 * Shares bytes as a file in the thread. Slack does that later and does not tell as which message, but it tells whether
 * the file is there: so a lost answer leaves nothing open.
 * https://docs.slack.dev/messaging/working-with-files#upload
 *
 * @throws SurfaceError `rate-limited` when nothing was shared and it may be tried again
 */
export async function shareFile(
  client: WebClient,
  { channel, thread }: ThreadRef,
  file: SharedFile,
  signal?: AbortSignal,
): Promise<void> {
  const id = await runBeforeSharing(() => transfer(client, file, signal));
  try {
    await client.files.completeUploadExternal({
      files: [{ id, title: file.name }],
      channel_id: channel,
      thread_ts: thread,
      ...(file.comment !== undefined && { initial_comment: file.comment }),
    });
  } catch (cause) {
    const error = toSurfaceError("files.completeUploadExternal", cause);
    if (error.kind !== "uncertain") throw error;
    if (!(await isShared(client, id, error))) throw notShared(error);
  }
}

/** Hands the bytes to Slack, where nobody sees them yet. @returns the id of the file */
async function transfer(client: WebClient, file: SharedFile, signal?: AbortSignal): Promise<string> {
  const target = await client.files.getUploadURLExternal({ filename: file.name, length: file.data.length });
  if (target.upload_url === undefined || target.file_id === undefined)
    throw new Error("Slack tells no address for the file.");
  const response = await fetch(target.upload_url, {
    method: "POST",
    headers: { "content-type": "application/octet-stream" },
    body: Buffer.from(file.data),
    signal: AbortSignal.any([AbortSignal.timeout(uploadMs), ...(signal ? [signal] : [])]),
  });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`Slack does not take the file (HTTP ${response.status}).`);
  return target.file_id;
}

async function runBeforeSharing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    const error = toSurfaceError("files.getUploadURLExternal", cause);
    throw error.kind === "uncertain" ? notShared(error) : error;
  }
}

/** Slack does not know a file whose upload was not completed. */
async function isShared(client: WebClient, id: string, lost: SurfaceError): Promise<boolean> {
  try {
    await client.files.info({ file: id });
    return true;
  } catch (cause) {
    if (refusalCode(cause) === "file_not_found") return false;
    const message =
      "Slack did not confirm the file, and does not tell whether it is in the thread: ask the people there before sharing it again.";
    throw new SurfaceError("uncertain", message, { cause: lost });
  }
}

function notShared(cause: unknown): SurfaceError {
  const message = "The connection to Slack broke: the file is not in the thread and can be shared again.";
  return new SurfaceError("rate-limited", message, { retryAfterMs: 1_000, limits: [], cause });
}

/** Shares a file as {@link shareFile} does, until the signal ends it: nobody sees the file before the last of three requests. */
export async function shareUntilAborted(
  access: SlackAccess,
  thread: ThreadRef,
  file: { name: string; data: Uint8Array },
  signal: AbortSignal,
): Promise<void> {
  let isSharing = false;
  const client = createWebClient(access, {
    timeoutMs: uploadMs,
    fetch: (url, init) => {
      signal.throwIfAborted();
      const address = url instanceof Request ? url.url : url.toString();
      isSharing ||= address.endsWith("/files.completeUploadExternal");
      return fetch(url, { ...init, signal: AbortSignal.any([signal, init?.signal ?? signal]) });
    },
  });
  try {
    await shareFile(client, thread, file, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    const [kind, what] = isSharing
      ? (["uncertain", `${file.name} may have been sent: Slack had not confirmed it yet.`] as const)
      : (["rejected", `${file.name} was not sent.`] as const);
    throw new SurfaceError(kind, what, { cause: error });
  }
}
