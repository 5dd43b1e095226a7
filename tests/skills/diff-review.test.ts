import { describe, expect, test } from "vitest";
import { repositoryWith, runCommand, runScript, workspace } from "./script.ts";

const script = "diff-review/scripts/review.mts";

const diff = `diff --git a/src/pay.ts b/src/pay.ts
index 1111111..2222222 100644
--- a/src/pay.ts
+++ b/src/pay.ts
@@ -10,3 +10,7 @@ function pay() {
 const a = 1;
-const b = 2;
+const apiKey = "sk_live_abcdefgh1234";
+try { go(); } catch (e) {}
+db.query("SELECT * FROM t WHERE id = " + id);
+console.log(a);
+--- a line that looks like a header
 end();
@@ -40,2 +44,3 @@
 x
+// TODO later
 y
diff --git a/tests/old.test.ts b/tests/old.test.ts
deleted file mode 100644
--- a/tests/old.test.ts
+++ /dev/null
@@ -1,2 +0,0 @@
-a
-b
diff --git a/tests/pay.test.ts b/tests/pay.test.ts
--- a/tests/pay.test.ts
+++ b/tests/pay.test.ts
@@ -1 +1,2 @@
 a
+test.only("pays", () => {});
diff --git a/logo.png b/logo.png
new file mode 100644
Binary files /dev/null and b/logo.png differ
diff --git a/package.json b/package.json
--- a/package.json
+++ b/package.json
@@ -5 +5 @@
-    "x": "^1.0.0"
+    "x": "^2.0.0"
`;

const review = (args: string[], stdin = "") =>
  runScript(script, args, workspace({ "change.diff": diff }), stdin);

describe("summary", () => {
  test("lists the files with their added and removed lines", async () => {
    const { stdout } = await review(["summary", "change.diff"]);
    expect(stdout).toMatch(/^5 files, \+8 -4\n/);
    expect(stdout).toMatch(/src\/pay\.ts +\+6 +-1\n/);
    expect(stdout).toMatch(/tests\/old\.test\.ts +\+0 +-2 {2}deleted, test\n/);
    expect(stdout).toMatch(/logo\.png +\+0 +-0 {2}added, binary\n/);
  });

  test("finds known risks by the line of the new file, the worst first", async () => {
    const { stdout } = await review(["summary", "change.diff"]);
    const findings = stdout.slice(stdout.indexOf("findings")).trimEnd().split("\n").slice(1);
    expect(findings).toEqual([
      "  must  src/pay.ts:11  a literal password or key",
      '  must  tests/pay.test.ts:2  a focused test hides the others: test.only("pays", () => {});',
      "  should  src/pay.ts:12  an error is swallowed: try { go(); } catch (e) {}",
      '  should  src/pay.ts:13  SQL built from text: db.query("SELECT * FROM t WHERE id = " + id);',
      "  should  tests/old.test.ts  a test file is deleted",
      "  should  package.json  versions change, and no lock file does",
      "  could  src/pay.ts:14  debug output: console.log(a);",
      "  could  src/pay.ts:45  an open end: // TODO later",
      "  could  logo.png  a binary file; is it needed in the repository?",
    ]);
  });

  test("never prints a secret", async () => {
    const { stdout } = await review(["summary", "change.diff", "--all"]);
    expect(stdout).not.toContain("sk_live");
  });

  test("asks for tests when only source has changed", async () => {
    const lines = Array.from({ length: 20 }, (_, index) => `+const v${index} = ${index};`);
    const patch = ["--- a/src/a.ts", "+++ b/src/a.ts", "@@ -0,0 +1,20 @@", ...lines, ""].join("\n");
    const { stdout } = await review(["summary", "-"], patch);
    expect(stdout).toContain("should  20 new lines of source and no change in a test");
  });

  test("understands what git prints, with renames and odd names", async () => {
    const folder = await repositoryWith([
      { subject: "One", files: { "src/a.ts": "1\n2\n3\n4\n", "a b/c.ts": "x\n" } },
      { subject: "Two", files: { "src/b.ts": "", "a b/c.ts": "x\ny\n" } },
    ]);
    await runCommand("git", ["mv", "-f", "src/a.ts", "src/b.ts"], folder);
    const { stdout: patch } = await runCommand("git", ["diff", "HEAD~1"], folder);
    const { stdout } = await review(["summary", "-"], patch);
    expect(stdout).toMatch(/src\/b\.ts +\+0 +-0 {2}renamed from src\/a\.ts\n/);
    expect(stdout).toMatch(/a b\/c\.ts +\+1 +-0\n/);
  });

  test("names files by their letters, which git writes as numbers", async () => {
    const folder = await repositoryWith([
      { subject: "One", files: { "src/größe.ts": "1\n", "alt\\東.ts": "1\n2\n3\n", 'a"b\n.ts': "1\n" } },
      { subject: "Two", files: { "src/größe.ts": "1\neval(x)\n", 'a"b\n.ts': "2\n" } },
    ]);
    await runCommand("git", ["mv", "alt\\東.ts", "neu.ts"], folder);
    const { stdout: patch } = await runCommand("git", ["diff", "HEAD~1"], folder);
    const { stdout } = await review(["summary", "-"], patch);
    expect(stdout).toMatch(/^ {2}src\/größe\.ts +\+1 +-0$/m);
    expect(stdout).toMatch(/^ {2}neu\.ts +\+0 +-0 {2}renamed from alt\\東\.ts$/m);
    expect(stdout).toMatch(/^ {2}a"b\\n\.ts +\+1 +-1$/m);
    expect(stdout).toContain("should  src/größe.ts:2  text run as code");
    expect((await review(["lines", "-", "src/größe.ts"], patch)).stdout).toBe(
      "     1   1\n     2 + eval(x)\n",
    );
  });

  test("refuses what git shows of a merge, in which it would find nothing", async () => {
    const combined =
      "diff --cc a.ts\nindex 1,2..0\n--- a/a.ts\n+++ b/a.ts\n@@@ -1,1 -1,1 +1,2 @@@\n++<<<<<<< HEAD\n";
    const { code, stderr } = await review(["summary", "-"], combined);
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining("combined diff of a merge; make one against"),
    ]);
  });
});

describe("lines", () => {
  test("numbers the new side of a file", async () => {
    const { stdout } = await review(["lines", "change.diff", "src/pay.ts"]);
    expect(stdout.split("\n").slice(-6)).toEqual([
      "    16   end();",
      "   ...",
      "    44   x",
      "    45 + // TODO later",
      "    46   y",
      "",
    ]);
  });

  test("names the files when the diff does not have it", async () => {
    const { code, stderr } = await review(["lines", "change.diff", "src/other.ts"]);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^review\.mts: the diff does not touch src\/other\.ts; it touches: src\/pay\.ts, /,
    );
  });
});

test("a file that is no diff is refused with the way to make one", async () => {
  const { code, stderr } = await runScript(script, ["summary", "x"], workspace({ x: "hello\n" }));
  expect(code).toBe(1);
  expect(stderr).toBe("review.mts: x holds no unified diff; make one with: git diff main...HEAD > x\n");
});
