import { expect, test } from "vitest";
import { quoteOutput } from "../../src/chat/call-text.ts";
import { toPlainOutput } from "../../src/chat/terminal-text.ts";

test.each([
  ["colours", "\u001b[1;32mok\u001b[0m \u009b31mred\u009b0m", "ok red"],
  [
    "links and titles of windows",
    "\u001b]8;;https://x.example\u0007x\u001b]8;;\u001b\\ \u001b]0;title\u0007y",
    "x y",
  ],
  ["cursor movements", "a\u001b[2K\u001b[1Gb\u001b(B\u001b=c", "abc"],
  ["a progress bar", "10 %\r\u001b[K50 %\r100 %\ndone\r\n", "100 %\ndone\n"],
  ["a bar that is about to be overwritten", "10 %\r50 %\r", "50 %"],
  ["what is cut at the end", "ok\u001b[3", "ok"],
  ["bells, backspaces and zero bytes", "a\u0007b\bc\0d", "abcd"],
  ["text as it is", "\tΩ ⏸️ [0m ]0;\n\n  x", "\tΩ ⏸️ [0m ]0;\n\n  x"],
])("What a command prints is shown without %s", (_what, printed, shown) => {
  expect(toPlainOutput(printed)).toBe(shown);
});

test("The last lines of what runs have no escape sequence, also where the beginning is cut", () => {
  const output = `${"\u001b[32mgreen\u001b[0m\n".repeat(200)}last`;
  const call = { id: "1", name: "bash", about: "make", state: "running", output } as const;
  expect(quoteOutput([call])).toBe("```\ngreen\ngreen\ngreen\nlast\n```");
});

test("A hostile output holds nobody up", () => {
  const began = performance.now();
  for (const part of ["\u001b[", "\u001b]", "\r", "\u001b[0"])
    for (const end of ["", "x"]) toPlainOutput(part.repeat(40_000) + end);
  expect(performance.now() - began).toBeLessThan(1_000);
});
