import type { Image } from "../messages.ts";

/** The largest image that is shown to a model: within every provider's limit, also when encoded. */
export const maxImageBytes = 4 * 1024 * 1024;

/** What the bytes say, whatever the file is called; undefined for what models do not take. */
export function imageType(data: Buffer): Image["mediaType"] | undefined {
  const head = data.toString("latin1", 0, 12);
  if (head.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
  if (head.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (head.startsWith("GIF87a") || head.startsWith("GIF89a")) return "image/gif";
  if (head.startsWith("RIFF") && head.endsWith("WEBP")) return "image/webp";
  return undefined;
}
