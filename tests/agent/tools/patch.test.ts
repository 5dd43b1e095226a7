import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { applyHunks } from "../../../src/agent/tools/files/apply-hunks.ts";
import { parsePatch } from "../../../src/agent/tools/files/patch-text.ts";
import { workspaces } from "./workspace.ts";

const workspace = workspaces();

const envelope = (...lines: string[]) => ["*** Begin Patch", ...lines, "*** End Patch"].join("\n");

/** Applies the hunks that are written behind a header to a text. */
function apply(text: string, ...hunks: string[]) {
  const parsed = parsePatch(envelope("*** Update File: a", ...hunks));
  const [change] = parsed.ok ? parsed.changes : [];
  if (change?.kind !== "update") throw new Error(parsed.ok ? "no update" : parsed.problem);
  return applyHunks(text, change.hunks);
}

const toHunkLine = (line: string) => ({ sign: line[0], text: line.slice(1) });
const lines = (...all: string[]) => `${all.join("\n")}\n`;

describe("In a file of 300,000 equal lines", () => {
  const file = "a\n".repeat(300_000);

  test("a hunk is looked for until it is in too many places", () => {
    expect(apply(file, "@@", ...Array<string>(1_000).fill("-a"))).toEqual({
      ok: false,
      problem: expect.stringMatching(
        /^hunk 1: its lines are in more than 10 places, at lines 1, 2, .* 10, …: /,
      ),
    });
  });

  test("its number still chooses the place", () => {
    const changed = apply(file, "@@ -200000,1 +200000,1 @@", "-a", "+b");
    expect(changed).toMatchObject({ ok: true, lines: [200_000] });
    expect(changed.ok && changed.text.indexOf("b")).toBe(2 * 199_999);
  });

  test("a hunk whose last line alone is different is given up", () => {
    expect(apply(file, "@@", ...Array<string>(999).fill("-a"), "-b")).toEqual({
      ok: false,
      problem: expect.stringMatching(/^hunk 1: looking for it among 300000 lines takes too long: /),
    });
  });

  test("so are thousands of hunks, each of which might be anywhere in it", () => {
    const names = Array.from({ length: 2_000 }, (_, index) => `b${index}`);
    const hunks = names.flatMap((name) => ["@@", `-${name}`]);
    expect(apply(`${lines(...names)}${file}`, ...hunks)).toMatchObject({
      ok: false,
      problem: expect.stringMatching(/^hunk \d+: looking for it among 302000 lines takes too long: /),
    });
  });
});

test("An empty line belongs to a patch within a file of it, and not between two", () => {
  const patch = [
    "*** Add File: b",
    "",
    "+one",
    "",
    "+two",
    "",
    "*** Update File: a",
    "",
    "@@",
    " x",
    "",
    "-y",
    "",
  ];
  expect(parsePatch(envelope(...patch))).toEqual({
    ok: true,
    changes: [
      { kind: "add", path: "b", lines: ["one", "", "two"], endsInNewline: true },
      {
        ...{ kind: "update", path: "a" },
        hunks: [expect.objectContaining({ lines: [" x", " ", "-y"].map(toHunkLine) })],
      },
    ],
  });
});

test("A patch of very many empty lines is read at once", () => {
  const started = performance.now();
  const parsed = parsePatch(`--- a/x\n+++ b/x\n@@ -1 +1 @@\n-x\n${"\n".repeat(100_000)}+y\n`);
  // It took many seconds, in which a worker does nothing else.
  expect(performance.now() - started).toBeLessThan(2_000);
  const [change] = parsed.ok ? parsed.changes : [];
  expect(change?.kind === "update" && change.hunks[0]?.lines).toHaveLength(100_002);
});

describe("A hunk", () => {
  test("is found by its lines, whatever its numbers say", () => {
    expect(apply(lines("a", "b", "c"), "@@ -90,2 +90,2 @@", " b", "-c", "+d")).toMatchObject({
      text: lines("a", "b", "d"),
      lines: [2],
    });
  });

  test("is found behind the place that @@ names, and by its number where its lines are there twice", () => {
    const code = lines("def a():", "  return 1", "def b():", "  return 1");
    const changed = { text: lines("def a():", "  return 1", "def b():", "  return 2") };
    expect(apply(code, "@@ def b():", "-  return 1", "+  return 2")).toMatchObject(changed);
    expect(apply(code, "@@ -4,1 +4,1 @@", "-  return 1", "+  return 2")).toMatchObject(changed);
    expect(apply(code, "@@", "-  return 1", "+  return 2")).toMatchObject({
      ok: false,
      problem: expect.stringMatching(/^hunk 1: its lines are in 2 places, at lines 2, 4/),
    });
  });

  test("leaves lines that stay as the file has them, also their last spaces and a missing line end", () => {
    expect(apply("a  \nb\nc", " a", "-b", "+B")).toMatchObject({ text: "a  \nB\nc" });
  });

  test("changes whether the last line ends in a line break where it says so", () => {
    const none = "\\ No newline at end of file";
    const text = (file: string, ...hunk: string[]) => {
      const changed = apply(file, "@@", ...hunk);
      return changed.ok ? changed.text : changed.problem;
    };
    expect(text("a\nb", "-b", none, "+b")).toBe("a\nb\n");
    expect(text("a\nb\n", "-b", "+c", none)).toBe("a\nc");
    expect(text("a\nb", "-b", none, "+c", none)).toBe("a\nc");
    expect(text("a\nb\n", "-a", "+c", " b", none)).toBe("c\nb\n");
    // Only of the last line can it be true.
    expect(text("a\nb\n", "-a", "+c", none)).toBe("c\nb\n");
  });

  test("changes the first line behind a byte order mark, which stays unless the patch names it", () => {
    expect(apply("\uFEFFa\nb\n", "-a", "+A", " b")).toMatchObject({ text: "\uFEFFA\nb\n", lines: [1] });
    expect(apply("\uFEFFa\nb\n", "@@ -1,0 +1,1 @@", "+c")).toMatchObject({ text: "\uFEFFa\nc\nb\n" });
    expect(apply("\uFEFFa\n", "-a")).toMatchObject({ text: "\uFEFF" });
    expect(apply("\uFEFF", "+a")).toMatchObject({ text: "\uFEFFa\n" });
    expect(apply("\uFEFFa\nb\n", "-\uFEFFa", "+a", " b")).toMatchObject({ text: "a\nb\n" });
    expect(apply("a\nb\n", "-a", "+\uFEFFa", " b")).toMatchObject({ text: "\uFEFFa\nb\n" });
  });

  test("may only add, where it says where", () => {
    expect(apply("", "+a")).toMatchObject({ text: "a\n" });
    expect(apply(lines("a"), "@@", "+b", "*** End of File")).toMatchObject({ text: lines("a", "b") });
    expect(apply(lines("a", "c"), "@@ a", "+b")).toMatchObject({ text: lines("a", "b", "c") });
    expect(apply(lines("a", "c"), "@@", "+b")).toMatchObject({
      problem: expect.stringContaining("does not say where"),
    });
  });

  test("that does not fit says which line is another one", () => {
    expect(apply(lines("a", "b", "c"), " a", " x", "-c")).toMatchObject({
      problem: "hunk 1: line 2 of the file is “b”, not “x”: read the file again and copy its lines exactly.",
    });
    expect(apply(lines("a", "b"), "-z")).toMatchObject({
      problem: expect.stringContaining("its first line “z” is not in the file"),
    });
  });

  test("whose lines are elsewhere than it says is told where they are", () => {
    const problem = (text: string, ...hunk: string[]) => {
      const applied = apply(text, ...hunk);
      return applied.ok ? "" : applied.problem;
    };
    const again = "read the file again and correct its place.";
    expect(problem(lines("x = 1", "def f():", "  pass"), "@@ def f():", "-x = 1", "+x = 2")).toBe(
      `hunk 1: its lines are at line 1, but not behind its place “@@ def f():”: ${again}`,
    );
    expect(problem(lines("a", "b", "c", "d"), "@@", "-b", "+B", "*** End of File")).toBe(
      `hunk 1: its lines are at line 2, but not at the end of the file: ${again}`,
    );
    expect(problem(lines("b", "a", "b", "c"), "@@ a", "-b", "+B", "*** End of File")).toBe(
      `hunk 1: its lines are at line 3, but not at the end of the file: ${again}`,
    );
    expect(problem(lines("}", "a", "}", "b", "f"), "@@ f", " }", "-b", "+B")).toBe(
      `hunk 1: its lines are at line 3, but not behind its place “@@ f”: ${again}`,
    );
    expect(problem(lines("a", "b"), "@@ a", " b", "-c")).toMatch(
      /^hunk 1: line 3 of the file is “the end of the file”, not “c”: /,
    );
  });

  test("of a diff makes of a text what it was made of", () => {
    const folder = mkdtempSync(join(tmpdir(), "heddle-patch-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const text = fc.array(fc.constantFrom("a", "b", "", "--- x", "+++ y", "@@ z"), { maxLength: 30 });
    fc.assert(
      fc.property(text, text, fc.boolean(), fc.boolean(), (old, next, ...areEnded) => {
        const [from, to] = [old, next].map(
          (all, at) => all.join("\n") + (areEnded[at] && all.length > 0 ? "\n" : ""),
        );
        writeFileSync(join(folder, "a"), from ?? "");
        writeFileSync(join(folder, "b"), to ?? "");
        const { stdout } = spawnSync("diff", ["-u", "a", "b"], { cwd: folder, encoding: "utf8" });
        if (stdout === "") return;
        const parsed = parsePatch(stdout);
        const [change] = parsed.ok ? parsed.changes : [];
        // What looks like the head of the next file is told from a line that goes by nothing.
        if (/^--- .*\n\+\+\+ /m.test(stdout.replace(/^.*\n.*\n/, ""))) return;
        expect(change).toMatchObject({ kind: "update", path: "a", to: "b" });
        const hunks = change?.kind === "update" ? change.hunks : [];
        expect(applyHunks(from ?? "", hunks)).toMatchObject({ ok: true, text: to });
      }),
      { numRuns: 40 },
    );
  });
});

describe("edit_file with a patch", () => {
  const patch = envelope(
    "*** Add File: new/b.txt",
    "+b",
    "*** Update File: a.txt",
    "@@",
    "-one",
    "+1",
    "*** Delete File: old.txt",
    "*** Update File: run.sh",
    "*** Move to: bin/run.sh",
    "@@",
    "-echo a",
    "+echo b",
  );
  const filled = async () => {
    const place = await workspace();
    await place.put("a.txt", "one\r\ntwo\r\n");
    await place.put("old.txt", "old\n");
    await place.put("run.sh", "echo a\n");
    await place.sandbox.exec({ command: "chmod +x run.sh" });
    return place;
  };

  test("changes, adds, deletes and moves files in one call", async () => {
    const { use, content, sandbox } = await filled();
    expect(await use("edit_file", { patch })).toMatchObject({
      status: "ok",
      text: "Patched:\nA new/b.txt\nM a.txt at 1\nD old.txt\nR run.sh to bin/run.sh at 1",
    });
    expect([await content("a.txt"), await content("new/b.txt")]).toEqual(["1\r\ntwo\r\n", "b\n"]);
    const { stdout } = await sandbox.exec({ command: "./bin/run.sh; ls run.sh old.txt 2>&1" });
    expect(stdout.toString()).toMatch(/^b\n.*No such file.*\n.*No such file/);
  });

  test("leaves the line ends of other lines where they are mixed, and gives its own those of their place", async () => {
    const { use, content, put } = await workspace();
    await put("mixed.txt", "one\r\ntwo\nthree\r\nfour\n");
    const update = envelope(
      ...["*** Update File: mixed.txt", " one", "-two", "+2", " three", "+new", " four", "@@", "+end"],
      "*** End of File",
    );
    expect(await use("edit_file", { patch: update })).toMatchObject({ status: "ok" });
    expect(await content("mixed.txt")).toBe("one\r\n2\nthree\r\nnew\r\nfour\nend\n");
  });

  test("takes what git diff prints", async () => {
    const { use, content, sandbox } = await filled();
    const { stdout } = await sandbox.exec({
      command: `git init -q && git add . && git commit -qm one && printf 'one\\r\\n2\\r\\n' >a.txt && git mv old.txt older.txt && echo more >>run.sh && git add . && git diff --cached && git reset -q --hard`,
    });
    expect(await use("edit_file", { patch: stdout.toString() })).toMatchObject({ status: "ok" });
    expect([await content("a.txt"), await content("older.txt"), await content("run.sh")]).toEqual([
      "one\r\n2\r\n",
      "old\n",
      "echo a\nmore\n",
    ]);
  });

  test("takes the names that git writes in bytes and quotes", async () => {
    const { use, sandbox } = await filled();
    const { stdout } = await sandbox.exec({
      command: String.raw`git init -q; echo 1 >'größe "\303".txt'; echo 2 >ö.txt; git add . && git commit -qm one && echo 3 >gr*.txt && git mv ö.txt $'é\t日.txt' && git add . && git diff --cached -M && git reset -q --hard`,
    });
    expect(stdout.toString()).toContain(String.raw`+++ "b/gr\303\266\303\237e \"\\303\".txt"`);
    expect(await use("edit_file", { patch: stdout.toString() })).toMatchObject({ status: "ok" });
    const { stdout: after } = await sandbox.exec({ command: "head gr*.txt é*" });
    expect(after.toString()).toBe('==> größe "\\303".txt <==\n3\n\n==> é\t日.txt <==\n2\n');
  });

  test("changes nothing when one of the files does not fit, and says which", async () => {
    const { use, content, put } = await filled();
    await put("new/b.txt", "there already\n");
    expect(await use("edit_file", { patch })).toMatchObject({
      status: "error",
      text: "new/b.txt exists already. Nothing was changed.",
    });
    expect(await content("a.txt")).toBe("one\r\ntwo\r\n");
    expect(await use("edit_file", { patch: patch.replace("-echo a", "-echo x") })).toMatchObject({
      status: "error",
      text: expect.stringMatching(/^INVALID_PARAM: run\.sh: hunk 1: .* Nothing was changed\.$/),
    });
    expect(await content("old.txt")).toBe("old\n");
  });

  test("puts back what it has written when a later file cannot be", async () => {
    const { use, content, sandbox, put } = await filled();
    await put("locked/x.txt", "x\n");
    await sandbox.exec({ command: "chmod 555 locked" });
    const update = (path: string, from: string) => [
      `*** Update File: ${path}`,
      `-${from}`,
      `+${from}${from}`,
    ];
    const blocked = envelope(...update("old.txt", "old"), "*** Delete File: locked/x.txt");
    expect(await use("edit_file", { patch: blocked })).toMatchObject({
      status: "error",
      text: expect.stringMatching(/^locked\/x\.txt was not removed: .* Nothing was changed\.$/),
    });
    expect([await content("old.txt"), await content("locked/x.txt")]).toEqual(["old\n", "x\n"]);
  });

  test("keeps its hands off what was changed since it was read, and off what is outside", async () => {
    const { use, put } = await filled();
    await use("read_file", { path: "a.txt" });
    await put("a.txt", "one\nelse\n");
    expect((await use("edit_file", { patch })).text).toMatch(
      /^CONFLICT: a\.txt was changed since you read it/,
    );
    const outside = envelope("*** Add File: ../etc/x", "+x");
    expect((await use("edit_file", { patch: outside })).text).toContain("outside /workspace");
  });

  test.each([
    ["hello", "names no file"],
    ["*** Begin Patch\n*** Update File: a.txt\n@@\n-one", "has no “*** End Patch”"],
    [envelope("*** Update File: a.txt", "one"), "begins with a space, + or -"],
    [envelope("*** Delete File: a.txt", "*** Delete File: ./a.txt"), "is in the patch twice"],
  ])("says what is wrong with %j", async (text, problem) => {
    const { use } = await filled();
    expect(await use("edit_file", { patch: text })).toMatchObject({
      status: "error",
      text: expect.stringContaining(problem),
    });
  });

  test("takes either edits or a patch", async () => {
    const { use } = await workspace();
    const both = { path: "a", edits: [{ old_text: "a", new_text: "b" }], patch };
    for (const input of [both, { path: "a" }, {}]) {
      expect((await use("edit_file", input)).text).toContain("give either path and edits, or patch");
    }
  });
});
