/** What the viewer makes of bytes and text; tests/browser/viewer.test.ts shows it. */
import { expect, test } from "vitest";
import { parseCsv } from "../../../src/adapters/console/page/viewer/csv.ts";
import { decodeText } from "../../../src/adapters/console/page/viewer/text.ts";

test.each([
  ["grüße", Buffer.from("grüße"), undefined],
  ["grüße", Buffer.from("grüße", "latin1"), "Latin-1"],
  ["grüße", Buffer.from("\uFEFFgrüße", "utf16le"), "UTF-16"],
  ["some grüße", Buffer.from("some grüße", "utf16le"), "UTF-16"],
  ["some grüße", Buffer.from("some grüße", "utf16le").swap16(), "UTF-16"],
  ["", Buffer.alloc(0), undefined],
])("%j is read whatever its encoding", (text, bytes, encoding) => {
  expect(decodeText(bytes)).toEqual({ text, ...(encoding !== undefined && { encoding }) });
});

test.each([
  ["a zero byte", Buffer.from("a\0b")],
  ["control characters", Buffer.from([0xe9, 0x01, 0x02])],
  ["a picture", Buffer.from("\x89PNG\r\n\x1A\n\0\0\0\rIHDR", "latin1")],
])("%s is no text", (_, bytes) => expect(decodeText(bytes)).toBeUndefined());

test.each([
  [
    "a,b\n1,2\n",
    [
      ["a", "b"],
      ["1", "2"],
    ],
  ],
  [
    'a;b\r\n"x;y";"say ""hi"""\r\n',
    [
      ["a", "b"],
      ["x;y", 'say "hi"'],
    ],
  ],
  [
    "a\tb\n\t\n",
    [
      ["a", "b"],
      ["", ""],
    ],
  ],
  [
    "a|b\n1|2",
    [
      ["a", "b"],
      ["1", "2"],
    ],
  ],
  [
    'a,b\n"two\nlines",2',
    [
      ["a", "b"],
      ["two\nlines", "2"],
    ],
  ],
  [
    'a,b\n"open,2',
    [
      ["a", "b"],
      ['"open', "2"],
    ],
  ],
])("%j is a table", (text, rows) => expect(parseCsv(text, 100)).toEqual({ rows, hasMore: false }));

test("Of a long table the beginning is shown", () => {
  expect(parseCsv("a\n".repeat(50), 3)).toEqual({ rows: [["a"], ["a"], ["a"]], hasMore: true });
});

test("A text of quotes takes no longer than its length", () => {
  const before = performance.now();
  for (const text of ['"'.repeat(100_001), '"a\n'.repeat(30_001), ',"'.repeat(50_001), '""x'.repeat(30_000)])
    parseCsv(text, 1_000);
  expect(performance.now() - before).toBeLessThan(2_000);
});
