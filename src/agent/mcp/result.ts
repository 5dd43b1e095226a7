import { isDeepStrictEqual } from "node:util";
import { ContentBlockSchema } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import { parseJson } from "../text/text.ts";
import { imageType, maxImageBytes } from "../images/images.ts";
import type { Image } from "../messages.ts";
import type { ToolResult } from "../tools/tool.ts";

/** What a tool call answers. Parts stay unparsed, so that one of an unknown kind does not cost the others. */
export const callResultSchema = z.looseObject({
  content: z.array(z.unknown()).default([]),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().default(false),
});

export type CallResult = z.infer<typeof callResultSchema>;

/** Text parts in order, images separately, and a note for everything that cannot be passed to a model. */
export function toToolResult(result: CallResult): ToolResult {
  const parts = result.content.map(readPart);
  const lines = parts.flatMap((part) => (typeof part === "string" ? [part] : []));
  const images = parts.flatMap((part) => (typeof part === "string" ? [] : [part]));
  const structured = result.structuredContent;
  // Servers are asked to repeat structured content as text, and many do.
  if (structured !== undefined && !lines.some((line) => isDeepStrictEqual(parseJson(line), structured))) {
    lines.push(JSON.stringify(structured));
  }
  const text = lines.join("\n").trim();
  const empty = result.isError ? "The server reports an error and says nothing about it." : "(no output)";
  return {
    status: result.isError ? "error" : "ok",
    text: text || (images.length > 0 ? "" : empty),
    ...(images.length > 0 ? { images } : {}),
  };
}

function readPart(raw: unknown): string | Image {
  const parsed = ContentBlockSchema.safeParse(raw);
  if (!parsed.success) return "[content of a kind that is not supported]";
  const part = parsed.data;
  switch (part.type) {
    case "text":
      return part.text;
    case "image":
      return readBinary(part.data, part.mimeType);
    case "audio":
      return readBinary(part.data, part.mimeType);
    case "resource_link":
      return `[resource ${part.name}: ${part.uri}]`;
    case "resource": {
      const { resource } = part;
      if ("text" in resource) return `[resource ${resource.uri}]\n${resource.text}`;
      return readBinary(resource.blob, resource.mimeType ?? "binary");
    }
  }
}

/**
 * Takes an image's type from its bytes, not from what the server says: a service refuses an image of the wrong type, and
 * with it every later request.
 */
function readBinary(text: string, type: string): string | Image {
  const data = Buffer.from(text, "base64");
  const mediaType = imageType(data);
  if (!mediaType) return `[${type}, ${data.length} bytes: cannot be shown]`;
  if (data.length > maxImageBytes)
    return `[${type}, ${data.length} bytes: larger than ${maxImageBytes} bytes]`;
  return { mediaType, data: data.toString("base64") };
}
