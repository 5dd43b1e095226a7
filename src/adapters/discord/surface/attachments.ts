import type { REST } from "discord.js";
import { z } from "zod";
import type { AttachmentHandle } from "../../../agent/messages.ts";
import { mayPass } from "../../../agent/network/passing-status.ts";
import { SurfaceError } from "../../../chat/surface.ts";
import { toSurfaceError } from "./errors.ts";

export const attachmentSchema = z.object({
  filename: z.string(),
  content_type: z.string().nullish(),
  size: z.number(),
  url: z.string(),
});

export function attachmentHandle({
  filename,
  content_type,
  size,
  url,
}: z.infer<typeof attachmentSchema>): AttachmentHandle {
  return { name: filename, mediaType: content_type ?? "application/octet-stream", bytes: size, handle: url };
}

const refreshedSchema = z.object({ refreshed_urls: z.tuple([z.object({ refreshed: z.string() })]) });

/**
 * Downloads a file, from Discord's CDN and nowhere else. Addresses are signed and expire after a day; then Discord
 * issues a new one. https://docs.discord.com/developers/reference#signed-attachment-cdn-urls
 *
 * @param cdnUrl another address of the CDN
 */
export async function* downloadAttachment(
  rest: REST,
  { handle, name }: AttachmentHandle,
  signal: AbortSignal,
  cdnUrl = "https://cdn.discordapp.com",
): AsyncIterable<Uint8Array> {
  try {
    let response = await load(handle, name, cdnUrl, signal);
    if (response.status === 403 || response.status === 404) {
      await response.body?.cancel();
      const answer = await rest.post("/attachments/refresh-urls", {
        body: { attachment_urls: [handle] },
        signal,
      });
      const [{ refreshed }] = refreshedSchema.parse(answer).refreshed_urls;
      response = await load(refreshed, name, cdnUrl, signal);
    }
    const { ok, status, body } = response;
    if (!ok || !body) {
      await body?.cancel();
      throw mayPass(status)
        ? new SurfaceError("uncertain", `Discord does not give the file ${name} (HTTP ${status}).`)
        : new SurfaceError("gone", `Discord no longer has the file ${name} (HTTP ${status}).`);
    }
    for await (const chunk of body) yield chunk;
  } catch (error) {
    signal.throwIfAborted();
    // What `fetch` says of a connection.
    if (error instanceof TypeError) {
      const problem = `The connection to Discord broke while the file ${name} was fetched.`;
      throw new SurfaceError("uncertain", problem, { cause: error });
    }
    throw toSurfaceError(`the file ${name}`, error);
  }
}

async function load(url: string, name: string, cdnUrl: string, signal: AbortSignal): Promise<Response> {
  if (!URL.canParse(url) || new URL(url).origin !== new URL(cdnUrl).origin) {
    throw new SurfaceError("rejected", `The file ${name} is not on Discord's CDN, so it is not fetched.`);
  }
  return fetch(url, { signal, redirect: "error" });
}
