import { describe, expect, test } from "vitest";
import { readPdfText } from "../../../../src/agent/tools/files/pdf.ts";
import type { Sandbox } from "../../../../src/sandbox/sandbox.ts";
import { collectOutput } from "../../../../src/sandbox/thread/output.ts";

/** What becomes of this output of pdftotext where a command that sets no limit has so many bytes kept. */
function read(output: string, keptBytes: number) {
  const exec: Sandbox["exec"] = ({ maxOutputBytes = keptBytes }) => {
    const collected = collectOutput(maxOutputBytes);
    collected.take("stdout", Buffer.from(output));
    return Promise.resolve({ end: "exit", exitCode: 0, durationMs: 1, ...collected.result() });
  };
  // Nothing else of a sandbox is used here.
  return readPdfText("book.pdf", { sandbox: { exec } as Sandbox, signal: new AbortController().signal });
}

const pagesOf = (count: number, text: string) =>
  Array.from({ length: count }, (_, index) => `Page ${index + 1}\n${text}\n\f`).join("");

describe("The text of a PDF", () => {
  test("is whole, however little the operator keeps of commands", async () => {
    const { ok, ...rest } = await read(pagesOf(2_000, "words ".repeat(500)), 16 * 1024);
    expect(ok).toBe(true);
    expect(JSON.stringify(rest)).toMatch(/--- page 2000 of 2000 ---\\nPage 2000\\n/);
  });

  test("says where it is cut, and never how many pages there are then", async () => {
    const found = await read(pagesOf(20, "x".repeat(1024 * 1024)), 16 * 1024);
    const text = found.ok ? found.text.replaceAll(/x{9,}/g, "x") : "";
    expect(text.split("\n").slice(-4)).toEqual([
      "--- page 15 ---",
      "Page 15",
      "x",
      "[cut here: only the first 15 pages are shown; read further ones with pdftotext -f 16]",
    ]);
    expect(text).not.toContain(" of ");
  });

  test("of a page that is too long alone is not called empty", async () => {
    expect(await read(pagesOf(1, "x".repeat(17 * 1024 * 1024)), 16 * 1024)).toEqual({
      ok: false,
      message: "book.pdf is a PDF, and its first page has too much text: use pdftotext with head -c.",
    });
  });
});
