import fc from "fast-check";
import { expect, test } from "vitest";
import { numberName, sanitizeFileName } from "../../src/message-extras/file-name.ts";

test.each([
  ["report.csv", "report.csv"],
  ["../../etc/passwd", "_.._etc_passwd"],
  [".bashrc", "bashrc"],
  ["a\nb\u202Egpj.exe", "a_b_gpj.exe"],
  ["", "file"],
  ["..", "file"],
  [`${"ä".repeat(200)}.tar.gz`, `${"ä".repeat(73)}.gz`],
])("the name %j becomes %j", (name, safe) => {
  expect(sanitizeFileName(name)).toBe(safe);
});

test("any name becomes one short part of a path on one line", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 300 }), (name) => {
      const safe = sanitizeFileName(name);
      expect(safe).toMatch(/^[^./\\\p{C}][^/\\\p{C}]*$/u);
      expect(Buffer.byteLength(safe)).toBeLessThanOrEqual(150);
    }),
  );
});

test("a number goes before the ending", () => {
  expect(["1", "2"].map((number) => numberName("a.csv", number))).toEqual(["a.csv", "a-2.csv"]);
});
