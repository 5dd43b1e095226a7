import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { applyEdits, type Edit } from "../../../../src/agent/tools/files/edits.ts";

const edit = (old_text: string, new_text: string, replace_all = false): Edit => ({
  old_text,
  new_text,
  replace_all,
});

function result(text: string, ...edits: Edit[]): string {
  const edited = applyEdits(Buffer.from(text), edits);
  return edited.ok ? Buffer.from(edited.data).toString() : `refused: ${edited.problem}`;
}

describe("edits are made", () => {
  test("where the text occurs exactly once", () => {
    expect(result("one two three", edit("two", "2"))).toBe("one 2 three");
  });

  test("everywhere with replace_all", () => {
    expect(result("a b a", edit("a", "aa", true))).toBe("aa b aa");
  });

  test("several at once, none in what another one wrote", () => {
    expect(result("red blue", edit("red", "blue"), edit("blue", "red"))).toBe("blue red");
  });

  test("without touching a byte order mark or CRLF line ends", () => {
    expect(result("\uFEFFone\r\ntwo\r\n", edit("one\ntwo", "1\n2\n3"))).toBe("\uFEFF1\r\n2\r\n3\r\n");
  });

  test.each([
    ["two\n", "2\n", "one\r\n2\nthree\r\nfour\n"],
    ["one\ntwo\nthree\n", "1\n2\n3\n", "1\r\n2\n3\r\nfour\n"],
    ["one\ntwo\nthree", "one\ntwo\nnew\nthree", "one\r\ntwo\nnew\nthree\r\nfour\n"],
    ["one\ntwo\nthree", "one\nthree", "one\r\nthree\r\nfour\n"],
    ["two\nthree\nfour", "two\nfour", "one\r\ntwo\nfour\n"],
    ["three", "three\nnew", "one\r\ntwo\nthree\r\nnew\r\nfour\n"],
    ["three\nfour", "new\nthree\nfour", "one\r\ntwo\nnew\r\nthree\r\nfour\n"],
    ["three\nfour\n", "3\r\n4\n5\n", "one\r\ntwo\n3\r\n4\n5\n"],
    ["one\r\ntwo", "1\n2", "1\r\n2\nthree\r\nfour\n"],
    ["\ntwo\n", " ", "one three\r\nfour\n"],
  ])("where line ends are mixed, found as they are shown: %j becomes %j", (old_text, new_text, expected) => {
    expect(result("one\r\ntwo\nthree\r\nfour\n", edit(old_text, new_text))).toBe(expected);
  });

  test("where line ends are mixed, at each place with the ends of its own lines", () => {
    expect(result("a\r\nb\na\nb\r\na\nb", edit("a\nb", "1\n2", true))).toBe("1\r\n2\n1\n2\r\n1\n2");
    expect(result("a\r\nb\r\nc", edit("c", "c\nd"), edit("a", "0\na"))).toBe("0\r\na\r\nb\r\nc\r\nd");
  });

  test("at the end of a file without a line end", () => {
    expect(result("one\ntwo", edit("two", "2"))).toBe("one\n2");
  });
});

describe("a file with many places to change", () => {
  test("has only those compared that are shown, and says how many others there are", () => {
    const text = "x\n".repeat(20_000);
    using split = vi.spyOn(String.prototype, "split");
    const edited = applyEdits(Buffer.from(text), [edit("x", "y", true)]);
    expect(split.mock.calls.length).toBeLessThan(1_000);
    expect(edited).toMatchObject({
      ok: true,
      diff: expect.stringMatching(
        /^@@ line 1 @@\n-x\n\+y\n@@ line 2 @@\n[^]*\n\[left out: .*\. Changed places not shown: 19973\.\]$/,
      ),
    });
  });

  test("in one line has the ends of that line looked for once", () => {
    const text = "x".repeat(150_000);
    using lookedFor = vi.spyOn(String.prototype, "lastIndexOf");
    expect(result(text, edit("x", "y", true))).toBe("y".repeat(150_000));
    expect(lookedFor.mock.calls.length).toBeLessThan(10);
  });

  test("is left to bash where there are too many", () => {
    expect(result("x".repeat(200_001), edit("x", "y", true))).toBe(
      "refused: more than 200000 places would change; use bash, for example sed.",
    );
  });

  test("has matches of an ambiguous text counted up to a thousand", () => {
    expect(result("x".repeat(2_000), edit("xx", "y"))).toContain("old_text has more than 1000 matches at");
  });
});

describe("edits are refused", () => {
  test.each([
    [
      "ambiguous text, with its places",
      "foo\nfoo\nbar",
      edit("foo", "x"),
      "old_text has 2 matches at lines 1, 2",
    ],
    ["text that matches over itself", "aaa", edit("aa", "b"), "2 matches"],
    ["empty text", "foo", edit("", "x"), "old_text is empty"],
    [
      "what is shown twice, with one line end and another",
      "a\r\nb\na\nb\n",
      edit("a\nb", "c"),
      "2 matches at lines 1, 3",
    ],
    ["text that does not occur", "foo", edit("baz", "x"), "does not occur"],
    ["what changes nothing", "foo", edit("foo", "foo"), "nothing would change"],
  ])("for %s", (_, text, wrong, problem) => {
    expect(result(text, edit("\0", "\0\0"), wrong)).toContain("refused");
    expect(result(text, wrong)).toContain(problem);
  });

  test("all of them when one is ambiguous", () => {
    expect(result("a b b", edit("a", "x"), edit("b", "y"))).toContain(
      "refused: edit 2: old_text has 2 matches",
    );
  });

  test("when two overlap", () => {
    const text = "one\nsome words\n";
    expect(result(text, edit("some", "a"), edit("e words", "b"))).toBe(
      "refused: edits 1 and 2 overlap at line 2; merge them into one.",
    );
  });

  test("in what is not UTF-8", () => {
    const edited = applyEdits(Buffer.from([0xff, 0xfe, 0x61]), [edit("a", "b")]);
    expect(edited).toMatchObject({ ok: false, problem: expect.stringContaining("not UTF-8") });
  });
});

describe("the diff", () => {
  function diffOf(text: string, ...edits: Edit[]): string {
    const edited = applyEdits(Buffer.from(text), edits);
    return edited.ok ? edited.diff : edited.problem;
  }

  test("shows the changed lines whole, with their number", () => {
    expect(diffOf("a\nlet x = 1;\nb\n", edit("1", "2"))).toBe("@@ line 2 @@\n-let x = 1;\n+let x = 2;");
  });

  test("shows lines that an edit repeats as context", () => {
    expect(diffOf("a\nb\nc\nd\n", edit("a\nb\nc", "a\nB\nc"))).toBe("@@ line 1 @@\n a\n-b\n+B\n c");
  });

  test("shows two changes of one line together, and others apart", () => {
    const diff = diffOf("f(x, y)\n\nz\n", edit("x", "1"), edit("y", "2"), edit("z", "3"));
    expect(diff).toBe("@@ line 1 @@\n-f(x, y)\n+f(1, 2)\n@@ line 3 @@\n-z\n+3");
  });

  test("is short, however much is replaced", () => {
    expect(diffOf("x\n".repeat(10_000), edit("x", "y", true)).length).toBeLessThan(8_200);
  });
});

test("a replacement of all is what a plain replacement of a string gives, in any text", () => {
  const letters = fc.string({ unit: fc.constantFrom("a", "b", "\n"), minLength: 1, maxLength: 3 });
  const text = fc.string({ unit: fc.constantFrom("a", "b", "\n", "é"), maxLength: 50 });
  fc.assert(
    fc.property(
      text,
      letters,
      fc.string({ unit: "grapheme", maxLength: 5 }),
      (content, old_text, new_text) => {
        fc.pre(content.includes(old_text) && old_text !== new_text);
        expect(result(content, edit(old_text, new_text, true))).toBe(
          content.replaceAll(old_text, () => new_text),
        );
      },
    ),
  );
});

test("no edit changes the line ends of other lines, whatever they are", () => {
  const line = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 2 });
  const lines = fc.array(fc.tuple(line, fc.constantFrom("\n", "\r\n")), { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(lines, lines, lines, (before, replaced, after) => {
      const write = (all: typeof lines extends fc.Arbitrary<infer Type> ? Type : never) =>
        all.flat().join("");
      const middle = `«${write(replaced)}»`;
      const content = `${write(before)}${middle}${write(after)}`;
      const shown = middle.replaceAll("\r\n", "\n");
      expect(result(content, edit(shown, `x${shown}`))).toBe(`${write(before)}x${middle}${write(after)}`);
      expect(result(content, edit(shown, "x"))).toBe(`${write(before)}x${write(after)}`);
    }),
  );
});
