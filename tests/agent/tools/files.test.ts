import { existsSync } from "node:fs";
import { describe, expect, test, vi } from "vitest";
import { createTokenCounter } from "../../../src/agent/context/tokens.ts";
import { workspaces } from "./workspace.ts";

/** A PDF of one line a page. Without a table of its objects: readers find them without it. */
function pdfOf(...pages: string[]): string {
  const kids = pages.map((_, index) => `${10 + 2 * index} 0 R`).join(" ");
  const objects = pages.flatMap((line, index) => {
    const text = line && `BT /F1 12 Tf 72 700 Td (${line}) Tj ET`;
    return [
      `${10 + 2 * index} 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</Font<</F1 3 0 R>>>>/Contents ${11 + 2 * index} 0 R>> endobj`,
      `${11 + 2 * index} 0 obj <</Length ${text.length}>> stream\n${text}\nendstream endobj`,
    ];
  });
  return [
    "%PDF-1.4",
    "1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj",
    `2 0 obj <</Type/Pages/Kids[${kids}]/Count ${pages.length}>> endobj`,
    "3 0 obj <</Type/Font/Subtype/Type1/BaseFont/Helvetica>> endobj",
    ...objects,
    "trailer <</Root 1 0 R>>",
    "%%EOF",
  ].join("\n");
}

const workspace = workspaces();
const lines = (count: number) => Array.from({ length: count }, (_, index) => `line ${index + 1}\n`).join("");

describe("read_file", () => {
  test("numbers the lines in six columns", async () => {
    const { use, put } = await workspace();
    await put("a.txt", "one\ntwo\n");
    expect(await use("read_file", { path: "a.txt" })).toMatchObject({
      status: "ok",
      text: "     1|one\n     2|two",
    });
  });

  test("reads from a line on, and says which lines of how many these are", async () => {
    const { use, put } = await workspace();
    await put("a.txt", lines(10));
    const { text } = await use("read_file", { path: "a.txt", offset: 4, limit: 2 });
    expect(text).toBe("     4|line 4\n     5|line 5\n[lines 4 to 5 of 10 lines total]");
  });

  test("says how long a file is when asked for lines past its end", async () => {
    const { use, put } = await workspace();
    await put("a.txt", lines(3));
    expect(await use("read_file", { path: "a.txt", offset: 9 })).toMatchObject({
      status: "error",
      text: "a.txt has 3 lines in total; line 9 is past its end.",
    });
  });

  test("says when a file is empty", async () => {
    const { use, put } = await workspace();
    await put("a.txt", "");
    expect((await use("read_file", { path: "a.txt" })).text).toBe("a.txt is empty.");
  });

  test("mentions CRLF line ends", async () => {
    const { use, put } = await workspace();
    await put("a.txt", "one\r\ntwo\r\n");
    expect((await use("read_file", { path: "a.txt" })).text).toBe(
      "     1|one\n     2|two\n[lines end in CRLF]",
    );
    await put("b.txt", "one\r\ntwo\n");
    expect((await use("read_file", { path: "b.txt" })).text).toBe(
      "     1|one\n     2|two\n[some lines end in CRLF]",
    );
  });

  test("reads the text of a PDF page by page", async ({ skip }) => {
    skip(!existsSync("/usr/bin/pdftotext"), "pdftotext is not installed: apt install poppler-utils");
    const { use, put } = await workspace();
    await put("two.pdf", pdfOf("Total: 42 looms", "Signed by Ada"));
    expect((await use("read_file", { path: "two.pdf" })).text).toMatch(
      /^ {5}1\|--- page 1 of 2 ---\n {5}2\| *Total: 42 looms\n {5}3\|--- page 2 of 2 ---\n {5}4\| *Signed by Ada$/,
    );
    expect((await use("read_file", { path: "two.pdf", offset: 4, limit: 1 })).text).toMatch(
      /Ada\n\[lines 4 to 4 of 4/,
    );
    await put("scan.pdf", pdfOf(""));
    expect(await use("read_file", { path: "scan.pdf" })).toMatchObject({
      status: "error",
      text: expect.stringContaining("has no text, only images"),
    });
    await put("broken.pdf", "%PDF-1.4 and nothing else");
    expect(await use("read_file", { path: "broken.pdf" })).toMatchObject({
      status: "error",
      text: expect.stringMatching(/^broken\.pdf is a PDF, and could not be read/),
    });
  });

  test("names a file that does not exist, and refuses an offset below 1", async () => {
    const { use } = await workspace();
    expect(await use("read_file", { path: "no.txt" })).toMatchObject({
      status: "error",
      text: expect.stringMatching(/^no\.txt does not exist/),
    });
    expect((await use("read_file", { path: "no.txt", offset: -1 })).text).toMatch(/^INVALID_PARAM: .*offset/);
  });

  test("cuts the middle of what has more than 32,000 tokens, however unevenly they are spread", async () => {
    const { use, put } = await workspace();
    const dense = "§¶ł€ŧ←↓→øþ ".repeat(6);
    const file = `${"plain words in a long line of text\n".repeat(4_000)}${`${dense}\n`.repeat(800)}`;
    await put("big.txt", file);
    const { text } = await use("read_file", { path: "big.txt" });
    const counter = createTokenCounter();
    await counter.load();
    const tokens = counter.count(text);
    expect(tokens).toBeLessThanOrEqual(32_000);
    expect(tokens).toBeGreaterThan(28_000);
    expect(text).toMatch(/^ {5}1\|plain words/);
    const [, first, last] =
      /\n\[left out: lines (\d+) to (\d+), \d+ bytes\. Read them with offset/.exec(text) ?? [];
    expect(text).toContain(`\n${String(Number(first) - 1).padStart(6)}|`);
    expect(text).toContain(`\n${String(Number(last) + 1).padStart(6)}|`);
    expect(text).toContain("  4800|§¶");
  });

  test("numbers no more lines than it may show, however many a file has", async () => {
    const { use, put } = await workspace();
    await put("long.txt", "\n".repeat(1 << 20));
    using padded = vi.spyOn(String.prototype, "padStart");
    const { text } = await use("read_file", { path: "long.txt" });
    expect(padded.mock.calls.length).toBeLessThan(100_000);
    expect(text).toMatch(/^ {5}1\|\n[^]*\n\[left out: lines \d+ to 10\d+, \d+ bytes\.[^]*\n1048576\|$/);
  });

  test("never takes the part of a large file that it has read for all of it", async () => {
    const { use, put } = await workspace();
    await put("a.log", `${"x".repeat(99)}\n`.repeat(60_000));
    const cut = "only the first 4194304 of 6000000 bytes were read; use bash for the rest";
    const part = await use("read_file", { path: "a.log", offset: 41_000, limit: 1 });
    expect(part.text).toBe(
      ` 41000|${"x".repeat(99)}\n[lines 41000 to 41000 of the first 41944 lines; ${cut}]`,
    );
    const behind = await use("read_file", { path: "a.log", offset: 55_000 });
    expect(behind).toMatchObject({
      status: "error",
      text: `Line 55000 of a.log is past its first 41944 lines: ${cut}.`,
    });
  });

  test("says of a text that is not UTF-8 what writing it back would do", async () => {
    const { use, put } = await workspace();
    await put("a.txt", Buffer.from("gr\xfc\xdfe\n", "latin1"));
    expect((await use("read_file", { path: "a.txt" })).text).toMatch(
      /^ {5}1\|gr\ufffd+e\n\[this is not UTF-8, /,
    );
    await put("b.txt", "grüße � 🙂\n");
    expect((await use("read_file", { path: "b.txt" })).text).toBe("     1|grüße � 🙂");
    await put("c.txt", `x${"🙂\n".repeat(838_860)}🙂🙂`);
    expect((await use("read_file", { path: "c.txt", limit: 1 })).text).not.toContain("UTF-8");
  });

  test("shows an image to the model", async () => {
    const { use, put } = await workspace();
    const png = Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), Buffer.alloc(20)]);
    await put("a.png", png);
    const message = await use("read_file", { path: "a.png" });
    expect(message.images).toEqual([{ mediaType: "image/png", data: png.toString("base64") }]);
  });

  test("refuses other binary files", async () => {
    const { use, put } = await workspace();
    await put("a.bin", Buffer.from([1, 0, 2]));
    expect((await use("read_file", { path: "a.bin" })).text).toContain("is not text (3 bytes)");
  });
});

describe("write_file", () => {
  test("creates a file and its folders", async () => {
    const { use, content } = await workspace();
    const message = await use("write_file", { path: "deep/er/a.txt", content: "one\ntwo" });
    expect(message).toMatchObject({ status: "ok", text: "Created deep/er/a.txt: 2 lines, 7 bytes." });
    expect(await content("deep/er/a.txt")).toBe("one\ntwo");
  });

  test("overwrites what the agent wrote or read, whatever the path's spelling", async () => {
    const { use, put, content } = await workspace();
    await use("write_file", { path: "a.txt", content: "1" });
    expect((await use("write_file", { path: "/workspace/./a.txt", content: "2" })).status).toBe("ok");
    await put("b.txt", "theirs");
    await use("read_file", { path: "b.txt" });
    expect((await use("write_file", { path: "b.txt", content: "mine" })).text).toMatch(/^Replaced b\.txt/);
    expect([await content("a.txt"), await content("b.txt")]).toEqual(["2", "mine"]);
  });

  test("refuses to overwrite a file that was not read", async () => {
    const { use, put, content } = await workspace();
    await put("a.txt", "theirs");
    expect(await use("write_file", { path: "a.txt", content: "mine" })).toMatchObject({
      status: "error",
      text: "CONFLICT: a.txt exists and has not been read in this turn. Nothing was written; use read_file first.",
    });
    expect(await content("a.txt")).toBe("theirs");
  });

  test("refuses to overwrite a file that was changed since it was read", async () => {
    const { use, put, content } = await workspace();
    await put("a.txt", "old");
    await use("read_file", { path: "a.txt" });
    await put("a.txt", "theirs");
    expect((await use("write_file", { path: "a.txt", content: "mine" })).text).toMatch(
      /^CONFLICT: a\.txt is not as/,
    );
    expect(await content("a.txt")).toBe("theirs");
  });

  test("writes a file anew that was removed, once it was seen to be gone", async () => {
    const { use } = await workspace();
    await use("write_file", { path: "a.txt", content: "1" });
    await use("bash", { command: "rm a.txt" });
    expect((await use("write_file", { path: "a.txt", content: "2" })).text).toMatch(/^CONFLICT/);
    await use("read_file", { path: "a.txt" });
    expect((await use("write_file", { path: "a.txt", content: "2" })).text).toMatch(/^Created/);
  });
});

describe("edit_file", () => {
  test("edits several places and shows a diff", async () => {
    const { use, put, content } = await workspace();
    await put("a.txt", "one\ntwo\nthree\n");
    const edits = [
      { old_text: "one", new_text: "1" },
      { old_text: "three", new_text: "3" },
    ];
    const { status, text } = await use("edit_file", { path: "a.txt", edits });
    expect(status).toBe("ok");
    expect(text).toBe("Edited a.txt.\n@@ line 1 @@\n-one\n+1\n@@ line 3 @@\n-three\n+3");
    expect(await content("a.txt")).toBe("1\ntwo\n3\n");
  });

  test("takes a lone edit whose fields stand beside the path, and nothing that could mean two things", async () => {
    const { use, put, content } = await workspace();
    await put("a.txt", "one two one");
    const lone = { path: "a.txt", old_text: "two", new_text: "2" };
    expect(await use("edit_file", lone)).toMatchObject({ status: "ok" });
    const nulls = { edits: null, patch: null };
    const all = { path: "a.txt", old_text: "one", new_text: "1", replace_all: "true", ...nulls };
    expect(await use("edit_file", all)).toMatchObject({ status: "ok" });
    expect(await content("a.txt")).toBe("1 2 1");
    for (const [input, problem] of [
      [{ path: "a.txt", old_text: "2" }, /edits\.0\.new_text: is missing/],
      [{ ...lone, edits: [{ old_text: "1", new_text: "3" }] }, /old_text: unknown argument/],
      [{ ...lone, patch: "*** Begin Patch\n*** End Patch" }, /give either path and edits, or patch/],
      [{ old_text: "2", new_text: "3" }, /give either path and edits, or patch/],
      [{ ...lone, regex: true }, /regex: unknown argument/],
    ] as const) {
      expect(await use("edit_file", input)).toMatchObject({
        status: "error",
        text: expect.stringMatching(problem),
      });
    }
    expect(await content("a.txt")).toBe("1 2 1");
  });

  test("leaves the file as it is when an edit is wrong", async () => {
    const { use, put, content } = await workspace();
    await put("a.txt", "foo\nfoo\nbar");
    const edits = [
      { old_text: "bar", new_text: "x" },
      { old_text: "foo", new_text: "y" },
    ];
    const { status, text } = await use("edit_file", { path: "a.txt", edits });
    expect(status).toBe("error");
    expect(text).toMatch(/^INVALID_PARAM: a\.txt: edit 2: old_text has 2 matches at lines 1, 2;/);
    expect(await content("a.txt")).toBe("foo\nfoo\nbar");
  });

  test("finds out by itself that the file was changed since it was read", async () => {
    const { use, put } = await workspace();
    await put("a.txt", "one two");
    await use("read_file", { path: "a.txt" });
    await put("a.txt", "one two three");
    const edit = { path: "a.txt", edits: [{ old_text: "one", new_text: "1" }] };
    expect((await use("edit_file", edit)).text).toMatch(/^CONFLICT: a\.txt was changed since you read it\./);
    await use("read_file", { path: "a.txt" });
    expect((await use("edit_file", edit)).status).toBe("ok");
    expect((await use("write_file", { path: "a.txt", content: "known after the edit" })).status).toBe("ok");
  });

  test("keeps the file's mode", async () => {
    const { use } = await workspace();
    await use("bash", { command: "echo 'echo old' > run.sh; chmod 755 run.sh" });
    await use("edit_file", { path: "run.sh", edits: [{ old_text: "old", new_text: "new" }] });
    expect((await use("bash", { command: "./run.sh; stat -c %a run.sh" })).text).toContain("new\n755");
  });
});

describe("paths", () => {
  test.each(["../../x", "/etc/x", "/workspace/../x"])("outside are denied: %s", async (path) => {
    const { use } = await workspace();
    for (const [tool, more] of [
      ["read_file", {}],
      ["write_file", { content: "x" }],
      ["edit_file", { edits: [{ old_text: "a", new_text: "b" }] }],
      ["list_files", {}],
    ] as const) {
      expect([tool, (await use(tool, { path, ...more })).status]).toEqual([tool, "error"]);
    }
  });

  test("cannot lead out through a link", async () => {
    const { use } = await workspace();
    await use("bash", { command: "ln -s / out" });
    expect((await use("read_file", { path: "out/root/.profile" })).status).toBe("error");
    expect((await use("write_file", { path: "out/x", content: "x" })).status).toBe("error");
  });
});

describe("list_files", () => {
  test("lists what is there, and says when there is more or nothing", async () => {
    const { use, put } = await workspace();
    expect((await use("list_files", {})).text).toBe("There are no files.");
    await put("src/a.ts", "12345");
    await put("b.txt", "1");
    expect((await use("list_files", {})).text).toBe("b.txt  1\nsrc/\nsrc/a.ts  5");
    expect((await use("list_files", { limit: 1 })).text).toMatch(/^b\.txt {2}1\n\[only the first 1 entries/);
  });
});

describe("search_files", () => {
  test("finds lines with their files and numbers", async () => {
    const { use, put } = await workspace();
    await put("src/a.ts", "let a = 1;\nlet b = 2;\n");
    await put("b.md", "let it be\n");
    const all = await use("search_files", { pattern: "^let [ab]" });
    expect(all.text).toBe("src/a.ts:1:let a = 1;\nsrc/a.ts:2:let b = 2;");
    const some = await use("search_files", { pattern: "LET", ignore_case: true, files: "*.md", path: "." });
    expect(some.text).toBe("./b.md:1:let it be");
  });

  test("takes every pattern and path as text, never as a part of a command", async () => {
    const { use, put, sandbox } = await workspace();
    await put("it's $(touch pwned)/-x", "it's `touch pwned` $HOME\n");
    const found = await use("search_files", { pattern: "it's `touch", path: "it's $(touch pwned)/-x" });
    expect(found.text).toMatch(/it's `touch pwned` \$HOME$/);
    expect((await use("search_files", { pattern: "-e", path: "--help" })).status).toBe("error");
    expect((await sandbox.readFile("pwned")).ok).toBe(false);
  });

  test("says that more lines match than were kept, and shows none of them in part", async () => {
    const { use, content, sandbox } = await workspace();
    await sandbox.exec({ command: "yes 'a needle, then 234' | head -n 300000 >all.txt" });
    const { status, text } = await use("search_files", { pattern: "needle" });
    expect(status).toBe("partial");
    expect(text).toMatch(
      /^More lines match than could be kept, and \d+ bytes are missing: narrow the search\.\nall\.txt:1:a needle/,
    );
    const [, path = ""] = /All of it is in (\S+):/.exec(text) ?? [];
    const kept = (await content(path)).split("\n");
    expect(kept[0]).toMatch(/^More lines match/);
    expect(kept.slice(1).filter((line) => !/^all\.txt:\d+:a needle, then 234$/.test(line))).toEqual([]);
  });

  test("waits for no pipe that the path names", async () => {
    const { use, sandbox } = await workspace();
    await sandbox.exec({ command: "mkfifo -m 600 pipe" });
    const { text } = await use("search_files", { pattern: "x", path: "pipe" });
    expect(text).toBe("No line matches.");
  });

  test("cuts a long line only behind its secrets, which are masked", async () => {
    const { use, put } = await workspace();
    const token = `ghp_${"aB3d".repeat(9)}`;
    await put("a.js", `${"x".repeat(370)} "${token}" ${"y".repeat(100)}\n`);
    const { text } = await use("search_files", { pattern: "ghp_" });
    expect(text).toMatch(/^a\.js:1:x+ "\[masked\]" y+…$/);
    expect(text).toHaveLength(400);
  });

  test("tells no match from a wrong pattern", async () => {
    const { use, put } = await workspace();
    await put("a.txt", "x\n");
    expect(await use("search_files", { pattern: "nowhere" })).toMatchObject({
      status: "ok",
      text: "No line matches.",
    });
    expect((await use("search_files", { pattern: "a(" })).status).toBe("error");
  });
});

describe("a git repository", () => {
  const make = `mkdir -p repo/src repo/node_modules/{a..e} repo/lib/gen plain/node_modules && cd repo && git init -q
printf 'node_modules\\n*.log\\n' >.gitignore; echo /gen >lib/.gitignore; touch lib/gen/x.ts
for package in node_modules/*; do echo needle >"$package/index.ts"; done
echo needle >src/main.ts; echo needle >src/debug.log; echo needle >kept.log; git add -f kept.log
echo needle >../plain/node_modules/c.js; mkdir sub && git -C sub init -q && echo '*.tmp' >sub/.gitignore && touch sub/a.tmp $'sub/odd\\nname.tmp'`;

  test("is listed and searched without what it ignores, unless that is asked for", async () => {
    const { use } = await workspace();
    expect((await use("bash", { command: make })).status).toBe("ok");
    const list = async (input: object) =>
      (await use("list_files", input)).text.split("\n").map((line) => line.replace(/ {2}\d+$/, ""));
    expect(await list({})).toEqual([
      ...["plain/", "plain/node_modules/", "plain/node_modules/c.js", "repo/", "repo/.git/"],
      ...["repo/.gitignore", "repo/kept.log", "repo/lib/", "repo/lib/.gitignore", "repo/src/"],
      ...["repo/src/main.ts", "repo/sub/", "repo/sub/.git/", "repo/sub/.gitignore"],
    ]);
    expect(await list({ glob: "**/*.ts" })).toEqual(["repo/src/main.ts"]);
    expect(await list({ glob: "*.{ts,js}", path: "repo/src" })).toEqual(["repo/src/main.ts"]);
    expect(await list({ glob: "[!a-l]*.[tj]s" })).toEqual(["repo/src/main.ts"]);
    expect(await list({ path: "repo/lib" })).toEqual(["repo/lib/.gitignore"]);
    expect(await list({ path: "repo/node_modules/a" })).toEqual(["repo/node_modules/a/index.ts"]);
    expect(await list({ glob: "**/*.ts", ignored: true })).toHaveLength(7);
    const search = async (input: object) =>
      (await use("search_files", { pattern: "needle", ...input })).text.split("\n");
    expect(await search({ path: "repo" })).toEqual(["repo/kept.log:1:needle", "repo/src/main.ts:1:needle"]);
    expect(await search({ files: "repo/**/*.ts" })).toEqual(["repo/src/main.ts:1:needle"]);
    expect(await search({ path: "repo", ignored: true })).toHaveLength(8);
    expect(await search({ path: "plain" })).toEqual(["plain/node_modules/c.js:1:needle"]);
  });

  test("that is made to hang or to run programs holds nobody up, and hides nothing", {
    timeout: 60_000,
  }, async () => {
    const { use } = await workspace();
    const hostile = `git init -q . && rm -rf .git/info && mkdir .git/info && mkfifo .git/info/exclude .gitignore
git config core.fsmonitor 'touch /workspace/pwned; false'; git config core.excludesFile /workspace/.gitignore
mkdir broken && echo 'gitdir: /nowhere' >broken/.git; echo x >main.ts`;
    expect((await use("bash", { command: hostile })).status).toBe("ok");
    const { text } = await use("list_files", {});
    expect(text).toContain("main.ts  2");
    expect(text).not.toContain("pwned");
  });
});

describe("attach_file", () => {
  test("hands the file over once for each call", async () => {
    const files: { name: string; text: string; key: string }[] = [];
    const { use, put } = await workspace({
      deliver: async ({ name, data, key }) => {
        files.push({ name, text: Buffer.from(data).toString(), key });
        return { ok: true };
      },
    });
    await put("out/report.txt", "done");
    const message = await use("attach_file", { path: "out/report.txt" });
    expect(message).toMatchObject({ status: "ok", text: "Attached out/report.txt (4 bytes)." });
    expect(files).toEqual([{ name: "report.txt", text: "done", key: message.callId }]);
  });

  test("says why a file was not handed over", async () => {
    const { use, put } = await workspace({
      deliver: async () => ({ ok: false, message: "The channel is archived." }),
    });
    await put("a.txt", "x");
    expect(await use("attach_file", { path: "a.txt" })).toMatchObject({
      status: "error",
      text: "The channel is archived.",
    });
    expect((await use("attach_file", { path: "no.txt" })).text).toContain("does not exist");
  });

  test("refuses where there is nobody to hand it to", async () => {
    const { use } = await workspace();
    expect((await use("attach_file", { path: "a.txt" })).text).toMatch(/^Files cannot be attached here/);
  });
});
