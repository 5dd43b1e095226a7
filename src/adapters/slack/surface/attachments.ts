import type { WebClient } from "@slack/web-api";
import { z } from "zod";
import type { AttachmentHandle } from "../../../agent/messages.ts";
import { mayPass } from "../../../agent/network/passing-status.ts";
import { SurfaceError } from "../../../chat/surface.ts";
import type { SlackAccess } from "../connection/web.ts";
import { toSurfaceError } from "./errors.ts";

/** Where Slack keeps files. The token is sent to no other host. */
const fileHost = "https://files.slack.com";

const mostRedirects = 3;

/** What a handle holds. `url` is missing for a file of another organisation: `files.info` tells it. */
interface SlackFile {
  team: string;
  id: string;
  url?: string;
}

/** The opaque part of an {@link AttachmentHandle}. */
function fileHandle({ team, id, url }: SlackFile): string {
  return [team, id, ...(url ? [url] : [])].join(" ");
}

/** A file in an event or a message. https://docs.slack.dev/reference/objects/file-object */
export const fileSchema = z.object({
  id: z.string(),
  name: z.string().nullish(),
  mimetype: z.string().nullish(),
  size: z.number().nullish(),
  url_private_download: z.string().nullish(),
});

/** @param team where the message is */
export function toAttachment(file: z.infer<typeof fileSchema>, team: string): AttachmentHandle {
  return {
    name: file.name ?? file.id,
    mediaType: file.mimetype ?? "application/octet-stream",
    bytes: file.size ?? 0,
    handle: fileHandle({
      team,
      id: file.id,
      ...(file.url_private_download && { url: file.url_private_download }),
    }),
  };
}

/** The id of the team that a file came from. */
export function readTeam({ handle }: AttachmentHandle): string {
  return parseHandle(handle).team;
}

function parseHandle(handle: string): SlackFile {
  const [team = "", id = "", url] = handle.split(" ");
  return { team, id, ...(url !== undefined && { url }) };
}

/** Asks Slack for what it withholds in events about files of other organisations (`check_file_info`). */
export async function fetchFileDetails(client: WebClient, file: AttachmentHandle): Promise<AttachmentHandle> {
  const { team, id, url } = parseHandle(file.handle);
  if (url !== undefined) return file;
  try {
    const { file: info } = await client.files.info({ file: id });
    return {
      name: info?.name ?? file.name,
      mediaType: info?.mimetype ?? file.mediaType,
      bytes: info?.size ?? file.bytes,
      handle: fileHandle({ team, id, ...(info?.url_private_download && { url: info.url_private_download }) }),
    };
  } catch (error) {
    throw toSurfaceError("files.info", error);
  }
}

/** The content of a file, as it comes. */
export async function* downloadFile(
  { botToken, apiUrl }: SlackAccess,
  file: AttachmentHandle,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  const { url } = parseHandle(file.handle);
  if (url === undefined) throw new SurfaceError("rejected", "Slack gives no address for this file.");
  const response = await request(
    url,
    botToken,
    [fileHost, ...(apiUrl ? [new URL(apiUrl).origin] : [])],
    signal,
  );
  if (!response.ok || !response.body) {
    await response.body?.cancel();
    const { status } = response;
    const kind = status === 404 ? "gone" : mayPass(status) ? "uncertain" : "rejected";
    throw new SurfaceError(kind, `Slack does not give the file (HTTP ${status}).`);
  }
  // An unauthorised request is answered with the login page, and with 200.
  const isPage = response.headers.get("content-type")?.startsWith("text/html");
  if (isPage && !response.headers.get("content-disposition")?.startsWith("attachment")) {
    await response.body.cancel();
    throw new SurfaceError(
      "forbidden",
      "Slack gives its login page instead of the file: grant files:read, install the app again, and share the file where the bot is.",
    );
  }
  try {
    yield* response.body;
  } catch (error) {
    throw signal.aborted ? error : toConnectionError(error);
  }
}

async function request(
  address: string,
  token: string,
  origins: readonly string[],
  signal: AbortSignal,
): Promise<Response> {
  let url = URL.parse(address);
  for (let redirects = 0; redirects <= mostRedirects; redirects += 1) {
    if (!url || !origins.includes(url.origin)) {
      throw new SurfaceError("rejected", "Its address is not one of Slack's, so it was not fetched.");
    }
    let response: Response;
    try {
      const headers = { authorization: `Bearer ${token}` };
      response = await fetch(url, { headers, redirect: "manual", signal });
    } catch (error) {
      throw signal.aborted ? error : toConnectionError(error);
    }
    const next = response.status >= 300 && response.status < 400 && response.headers.get("location");
    if (!next) return response;
    await response.body?.cancel();
    url = URL.parse(next, url);
  }
  throw new SurfaceError("rejected", "Slack redirects too often.");
}

function toConnectionError(cause: unknown): SurfaceError {
  return new SurfaceError("uncertain", "The connection to Slack broke while the file was fetched.", {
    cause,
  });
}
