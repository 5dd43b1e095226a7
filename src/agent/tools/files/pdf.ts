import { quoteArgument } from "../quote.ts";
import type { SandboxToolContext } from "../tool.ts";

/** The first bytes of a PDF (ISO 32000-1, 7.5.2). */
export const pdfStart = "%PDF-";

/** What is kept of a text, whatever the operator keeps of commands: some thousands of full pages. */
const mostBytes = 16 * 1024 * 1024;

/**
 * The text of a PDF with a line before each page, made by pdftotext in the sandbox: such a file is hostile input,
 * and nothing outside may parse it. A text that was cut says so in its last line. Otherwise one line that tells what
 * to do.
 */
export async function readPdfText(
  path: string,
  { sandbox, signal }: Pick<SandboxToolContext, "sandbox" | "signal">,
): Promise<{ ok: true; text: string } | { ok: false; message: string }> {
  const command = `pdftotext -layout -enc UTF-8 -- ${quoteArgument(path)} -`;
  const bounds = { timeoutMs: 60_000, maxOutputBytes: mostBytes };
  const { end, exitCode, stdout, stderr, droppedBytes } = await sandbox.exec({ command, ...bounds, signal });
  const createFailure = (message: string) =>
    ({ ok: false, message: `${path} is a PDF, ${message}` }) as const;
  if (exitCode === 127) {
    return createFailure("and this host has no pdftotext: ask the operator to install poppler-utils.");
  }
  if (end !== "exit")
    return createFailure(`and reading it was ended (${end}): read a part with pdftotext -f and -l.`);
  if (exitCode !== 0)
    return createFailure(`and could not be read: ${stderr.toString().trim().split("\n")[0]}`);
  // pdftotext ends each page with a form feed; what is behind the last one was cut.
  const pages = stdout.toString().split("\f").slice(0, -1);
  const isCut = droppedBytes > 0;
  if (isCut && pages.length === 0)
    return createFailure("and its first page has too much text: use pdftotext with head -c.");
  if (pages.every((page) => page.trim() === "")) {
    return createFailure(
      "and has no text, only images: make one of a page with pdftoppm -png and read that.",
    );
  }
  const total = isCut ? "" : ` of ${pages.length}`;
  const text = pages.map((page, index) => `--- page ${index + 1}${total} ---\n${page.trimEnd()}`);
  if (isCut) {
    const next = pages.length + 1;
    text.push(
      `[cut here: only the first ${pages.length} pages are shown; read further ones with pdftotext -f ${next}]`,
    );
  }
  return { ok: true, text: text.join("\n") };
}
