import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createBubblewrapBackend } from "../../src/sandbox/bubblewrap/backend.ts";
import type { Sandbox, SandboxBackend } from "../../src/sandbox/sandbox.ts";
import { dataFolder, output, python } from "./two-threads.ts";

/** Whatever a thread does with its files, it can go on with them, and so can who looks after them. */
const thread = "local:test:odd:1";
const hasPython = existsSync("/usr/bin/python3");
const day = 86_400_000;
const policy = { idleMs: 30 * day, archiveMs: 365 * day };

let dataDir: string;
let backend: SandboxBackend;
let sandbox: Sandbox;
let time: number;
let logged: string[];
beforeEach(async () => {
  dataDir = dataFolder();
  time = Date.now();
  logged = [];
  backend = createBubblewrapBackend({ dataDir, now: () => time, log: (line) => logged.push(line) });
  sandbox = await backend.open(thread);
});
afterEach(async () => {
  await backend.close();
  rmSync(dataDir, { recursive: true });
});

const paths = async () => {
  const listed = await sandbox.listFiles();
  if (!listed.ok) throw new Error(listed.message);
  return listed.entries.map(({ path }) => path);
};

/** Archives the idle workspace and opens it again from there. */
async function archiveAndReopen(): Promise<void> {
  time += 31 * day;
  const report = await (await backend.workspaces()).clean(policy);
  expect(report).toMatchObject({ archived: [thread], failed: [] });
  expect(readdirSync(join(dataDir, "workspaces"))).not.toContain(thread);
  await backend.close();
  backend = createBubblewrapBackend({ dataDir, now: () => time });
  sandbox = await backend.open(thread);
}

describe.skipIf(!hasPython)("folders nested far deeper than a path can name", () => {
  /** Above files of use. */
  const nest = `mkdir kept top; echo kept >kept/file; echo gone >kept/gone; cd top; ${python(`
import os
for level in range(6000):
    os.mkdir("n" * 250)
    os.chdir("n" * 250)`)}`;

  test("can be lived with: files are listed, written, noted and kept, the rest is told of, and can be removed", async () => {
    expect(await output(sandbox, nest)).toBe("");
    const listed = await paths();
    expect(listed.slice(0, 4)).toEqual(["kept", "kept/file", "kept/gone", "top"]);
    expect(listed.length).toBeLessThan(25);
    expect(await sandbox.writeFile("top/new", Buffer.from("x"))).toMatchObject({ ok: true });
    sandbox.noteFiles("t1");
    await output(sandbox, "rm kept/gone");
    expect(await sandbox.changes({ modified: 0, changed: 0 })).toMatchObject({
      changed: ["kept/file", "top/new"],
      deleted: ["kept/gone"],
    });
    await archiveAndReopen();
    expect(await output(sandbox, "cat kept/file; ls top")).toMatch(/^kept\nnew\nn+$/);
    expect(logged).toEqual([
      expect.stringMatching(/^\d+ paths of .* are too long .* left out of its archive/),
    ]);
    expect(readdirSync(join(dataDir, "replaced"))).toEqual([]);
  });

  test("can be removed by the thread itself", async () => {
    expect(await output(sandbox, `${nest}\nrm -rf n*; cd ..; rmdir top; ls`)).toBe("kept");
  });
});

test("a workspace of odd names and odd kinds of files is listed, noted, archived and found again", async () => {
  const make = `
mkdir -p -- -rf 'a
b' "$(printf 'n%.0s' {1..255})" shut loop
echo 1 >'-rf/--help'; echo 2 >$'new\\nline'; echo 3 >$'bad\\xff\\xfe'; echo 4 >$'one\\x01two'; echo 5 >'*'; echo 6 >'back\\slash'
ln -s . loop/self; ln -s ../loop loop/up; ln -s a-link another; ln -s another a-link
mkfifo pipe; node -e 'require("net").createServer().listen("socket", () => process.exit())'
truncate -s 200M sparse; echo 7 >first; ln first second
echo 8 >shut/inside; chmod 0 shut`;
  const look = `chmod 700 shut; cat -- -rf/--help $'new\\nline' $'bad\\xff\\xfe' $'one\\x01two' '*' 'back\\slash' first shut/inside | tr -d '\\n'
stat -c '%h' second; readlink another loop/self; stat -c %F pipe; [ $(stat -c %b sparse) -lt 100 ] && stat -c %s sparse`;
  expect(await output(sandbox, make)).toBe("");
  expect(await paths()).toEqual(
    expect.arrayContaining([
      "-rf/--help",
      "new\nline",
      "one\u0001two",
      "bad\ufffd\ufffd",
      "loop/self",
      "pipe",
      "shut",
    ]),
  );
  for (const path of ["pipe", "another", "loop/self", "socket"]) {
    expect(await sandbox.readFile(path), path).toMatchObject({ ok: false });
  }
  const seen = await output(sandbox, look);
  expect(seen).toBe("123456782\na-link\n.\nfifo\n209715200");
  await output(sandbox, "chmod 0 shut");
  await archiveAndReopen();
  expect(await output(sandbox, look)).toBe(seen);
});

describe.skipIf(!hasPython)("a file that becomes a pipe", () => {
  /** Exchanges the two again and again, as fast as can be. */
  const swap = `
import ctypes
libc = ctypes.CDLL(None)
print("ready", flush=True)
while True: libc.renameat2(-100, b"/workspace/file", -100, b"/workspace/pipe", 2)`;

  test("keeps nobody waiting who reads or edits it", { timeout: 60_000 }, async () => {
    await output(sandbox, "echo text >file; mkfifo -m 600 pipe");
    const started = await sandbox.start({ command: `/usr/bin/python3 -c '${swap}'` });
    expect(started.ok).toBe(true);
    const ends = new Set<string>();
    for (let attempt = 0; attempt < 40; attempt += 1) {
      const begun = performance.now();
      const read = await sandbox.readFile("file");
      ends.add(read.ok ? "read" : read.reason);
      await sandbox.writeFile("file", Buffer.from("x"), { ifSha256: "0".repeat(64) });
      if (performance.now() - begun > 2_000) break; // It was a pipe when it was opened.
    }
    expect([...ends].filter((end) => !["read", "not-a-file"].includes(end))).toEqual([]);
  });
});
