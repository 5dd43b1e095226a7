import { isUtf8 } from "node:buffer";
import { z } from "zod";
import type { TokenCounter } from "../../context/tokens.ts";
import { type TextLimits, truncate } from "../../context/truncate.ts";
import { imageType, maxImageBytes } from "../../images/images.ts";
import type { Image } from "../../messages.ts";
import { fileKey, type FileKnowledge } from "./file-knowledge.ts";
import { toLf } from "./file-text.ts";
import { countBreaks, numberLines, skipLines } from "./numbered-lines.ts";
import { readOfficeText, zipStart } from "../office/office.ts";
import { pdfStart, readPdfText } from "./pdf.ts";
import { defineSandboxTool, type SandboxToolContext, type Tool, type ToolResult } from "../tool.ts";

/** What one call may show. A token is up to eight bytes here: text of longer ones is cut by its bytes. */
const maxTokens = 32_000;
const maxTextBytes = 8 * maxTokens;
/** Read at once, and an image's limit; what is beyond it is for bash. */
const maxFileBytes = maxImageBytes;

const input = z.object({
  path: z.string().min(1),
  offset: z.number().int().min(1).default(1).describe("The first line to read, from 1"),
  limit: z.number().int().min(1).optional().describe("How many lines. Default: to the end"),
});

/** Which lines of a text are shown, and what is said of it. */
interface Shown {
  offset: number;
  limit: number | undefined;
  remarks?: readonly string[];
  /** Set where the text is only the beginning of its file. */
  cut?: string;
}

export function readFile(known: FileKnowledge, counter: TokenCounter): Tool {
  const limits: TextLimits = {
    lines: Number.MAX_SAFE_INTEGER,
    size: maxTokens,
    measure(text) {
      const byBytes = (Buffer.byteLength(text) * maxTokens) / maxTextBytes;
      return byBytes > maxTokens ? byBytes : Math.max(counter.count(text), byBytes);
    },
  };
  const boundLines = async (lines: string, firstLine: number) => {
    const { text, gap } = numberLines(lines, firstLine, maxTextBytes);
    // A token has at least one byte: a small text needs neither the vocabulary nor a cut.
    if (Buffer.byteLength(text) <= maxTokens) return text;
    await counter.load();
    const more = "Read them with offset and limit.";
    return truncate(text, limits, { keep: "both", firstLine, more, ...(gap && { gap }) });
  };
  const show = async (
    path: string,
    text: string,
    { offset, limit, remarks = [], cut }: Shown,
  ): Promise<ToolResult> => {
    const total = countBreaks(text) + 1;
    if (offset > total) {
      const why =
        cut === undefined
          ? `${path} has ${total} lines in total; line ${offset} is past its end.`
          : `Line ${offset} of ${path} is past its first ${total} lines: ${cut}.`;
      return { status: "error", text: why };
    }
    const rest = total - offset + 1;
    const count = Math.min(limit ?? rest, rest);
    const start = skipLines(text, 0, offset - 1);
    const end = count === rest ? text.length : skipLines(text, start, count) - 1;
    const shown = await boundLines(text.slice(start, end), offset);
    const all = [...remarks, ...(cut === undefined ? [] : [cut])];
    const of = cut === undefined ? `${total} lines total` : `the first ${total} lines`;
    if (count < total) all.unshift(`lines ${offset} to ${offset + count - 1} of ${of}`);
    return { status: "ok", text: all.length === 0 ? shown : `${shown}\n[${all.join("; ")}]` };
  };
  return defineSandboxTool({
    name: "read_file",
    description:
      "Read a text file, or the text of a PDF or an Office file (docx, xlsx, pptx), with line numbers (they are not part of it), or look at an image. Very long texts " +
      "are cut in the middle; read parts of them with offset and limit.",
    input,
    effect: "read",
    limits: { lines: Number.MAX_SAFE_INTEGER, size: maxTextBytes + 1_024 },
    async run({ path, offset, limit }, { sandbox, signal }) {
      const read = await sandbox.readFile(path, { maxBytes: maxFileBytes, signal });
      if (!read.ok) {
        if (read.reason === "not-found") known.delete(fileKey(path));
        return { status: "error", text: read.message };
      }
      if (read.sha256 !== undefined) known.set(fileKey(path), read.sha256);
      const mediaType = imageType(read.data);
      if (mediaType) return image(path, mediaType, read.data, read.truncated);
      const inside = await readDocument(path, read.data, { sandbox, signal });
      if (inside?.ok === false) return { status: "error", text: inside.message };
      if (inside) return await show(path, inside.text, { offset, limit });
      if (read.data.subarray(0, 8_192).includes(0)) {
        return {
          status: "error",
          text: `${path} is not text (${read.size} bytes); use bash to look into it.`,
        };
      }
      if (read.size === 0) return { status: "ok", text: `${path} is empty.` };

      const remarks = describeLineEnds(read.data);
      if (!isText(read.data, read.truncated)) remarks.push(notUtf8);
      const cut = `only the first ${read.data.length} of ${read.size} bytes were read; use bash for the rest`;
      const shown = { offset, limit, remarks, ...(read.truncated && { cut }) };
      return await show(path, decodeLines(read.data), shown);
    },
  });
}

/** The text of a file that has its text inside; undefined for any other one. */
function readDocument(
  path: string,
  data: Buffer,
  context: Pick<SandboxToolContext, "sandbox" | "signal">,
): ReturnType<typeof readOfficeText> {
  if (data.toString("latin1", 0, pdfStart.length) === pdfStart) return readPdfText(path, context);
  if (data.toString("latin1", 0, zipStart.length) === zipStart) return readOfficeText(path, context);
  return Promise.resolve(undefined);
}

function describeLineEnds(data: Buffer): string[] {
  if (!data.includes("\r\n")) return [];
  return [/(?<!\r)\n/.test(data.toString("latin1")) ? "some lines end in CRLF" : "lines end in CRLF"];
}

const notUtf8 =
  "this is not UTF-8, and what it has besides stands here as �, which would be lost if you wrote it back: change it with bash";

/** The last character of what was cut may be half. */
function isText(data: Buffer, isCut: boolean): boolean {
  return isUtf8(isCut ? data.subarray(0, data.lastIndexOf("\n") + 1) : data);
}

/** The lines of a file, between them LF. A line break at the end ends the last line and begins no new one. */
function decodeLines(data: Buffer): string {
  return toLf(new TextDecoder().decode(data)).replace(/\n$/, "");
}

function image(path: string, mediaType: Image["mediaType"], data: Buffer, truncated: boolean): ToolResult {
  if (truncated) {
    return {
      status: "error",
      text: `${path} is an image of more than ${maxFileBytes} bytes; make it smaller first.`,
    };
  }
  const images = [{ mediaType, data: data.toString("base64") }];
  return { status: "ok", text: `${path}: ${mediaType}, ${data.length} bytes.`, images };
}
