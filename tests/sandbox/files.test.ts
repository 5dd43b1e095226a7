import { createHash } from "node:crypto";
import { readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createBubblewrapBackend } from "../../src/sandbox/bubblewrap/backend.ts";
import type { Sandbox, SandboxBackend } from "../../src/sandbox/sandbox.ts";
import { dataFolder, type TwoThreads, openTwoThreads, output } from "./two-threads.ts";

const dataDir = dataFolder();
let threads: TwoThreads;
beforeAll(async () => {
  threads = await openTwoThreads(dataDir, { fileBytes: 4 * 1024 * 1024 });
});
afterAll(async () => {
  await threads.backend.close();
  rmSync(dataDir, { recursive: true });
});

const sha256 = (data: Uint8Array) => createHash("sha256").update(data).digest("hex");
const text = (content: string) => Buffer.from(content);
const run = (command: string) => output(threads.sandbox, command);
const refused = (reason: string) => ({ ok: false, reason, message: expect.stringMatching(/^.{5,}\.$/) });

describe("writeFile", () => {
  test("makes folders, replaces content and tells its hash", async () => {
    const { sandbox } = threads;
    expect(await sandbox.writeFile("new/deep/file.txt", text("one"))).toEqual({
      ok: true,
      sha256: sha256(text("one")),
    });
    expect(await sandbox.writeFile("/workspace/new/deep/file.txt", text("two\n"))).toMatchObject({
      ok: true,
    });
    expect(await run("cat new/deep/file.txt; stat -c %a new/deep/file.txt; ls -A new/deep")).toBe(
      "two\n644\nfile.txt",
    );
  });

  test("keeps the mode of a file, and writes through a link", async () => {
    await run("echo '#!/bin/sh' >tool; chmod 751 tool; ln -s tool link");
    expect(await threads.sandbox.writeFile("link", text("#!/bin/sh\necho new\n"))).toMatchObject({
      ok: true,
    });
    expect(await run("./tool; stat -c '%a %F' tool link")).toBe("new\n751 regular file\n777 symbolic link");
  });

  test("writes only over the content that was read", async () => {
    const { sandbox } = threads;
    await sandbox.writeFile("shared", text("first"));
    const options = { ifSha256: sha256(text("first")) };
    await run("echo changed >shared");
    expect(await sandbox.writeFile("shared", text("mine"), options)).toEqual(refused("conflict"));
    expect(await run("cat shared; ls -A | grep -c heddle")).toBe("changed\n0");
    const current = { ifSha256: sha256(text("changed\n")) };
    expect(await sandbox.writeFile("shared", text("mine"), current)).toMatchObject({ ok: true });
    expect(await sandbox.writeFile("gone", text("mine"), current)).toEqual(refused("conflict"));
  });

  test("creates a file only where there is none", async () => {
    const { sandbox } = threads;
    expect(await sandbox.writeFile("created", text("1"), { ifSha256: null })).toMatchObject({ ok: true });
    expect(await sandbox.writeFile("created", text("2"), { ifSha256: null })).toEqual(refused("conflict"));
    expect(await run("cat created")).toBe("1");
  });

  test("says why it cannot", async () => {
    const { sandbox } = threads;
    await run("mkdir -p folder locked && chmod 555 locked; mkfifo -m 600 fifo; echo >plain");
    const reasons = {
      folder: "is-directory",
      ".": "is-directory",
      fifo: "not-a-file",
      "plain/below": "not-a-file",
      "locked/file": "denied",
      "/etc/passwd": "denied",
      "../outside": "denied",
      "/workspacex/file": "denied",
      "nul\0": "denied",
      ["n".repeat(300)]: "failed",
    };
    for (const [path, reason] of Object.entries(reasons)) {
      expect(await sandbox.writeFile(path, text("x")), path).toEqual(refused(reason));
    }
    expect(await sandbox.writeFile("huge", Buffer.alloc(5 * 1024 * 1024))).toEqual(refused("too-large"));
  });

  test("writes through no link that leads out of the thread's folders", async () => {
    await run("ln -s /etc/new out; ln -s /etc etc");
    for (const path of ["out", "etc/new"]) {
      for (const options of [{}, { ifSha256: null }]) {
        expect(await threads.sandbox.writeFile(path, text("x"), options), path).toEqual(refused("denied"));
      }
    }
  });

  test("stops at an aborted signal and leaves the old content", async () => {
    await threads.sandbox.writeFile("kept", text("old"));
    const written = await threads.sandbox.writeFile("kept", text("new"), { signal: AbortSignal.abort() });
    expect(written).toEqual(refused("failed"));
    expect(await run("cat kept")).toBe("old");
  });
});

describe("a file that is being written", () => {
  const thread = "local:test:writing:1";
  const stagedIn = (folder: string) => readdirSync(join(folder, "new"));
  let backend: SandboxBackend;
  let sandbox: Sandbox;
  let folder: string;
  beforeAll(async () => {
    backend = createBubblewrapBackend({ dataDir, limits: { fileBytes: 2 ** 40 } });
    sandbox = await backend.open(thread);
    folder = join(dataDir, "workspaces", sha256(text(thread)).slice(0, 32));
  });
  afterAll(() => backend.close());

  test("is nowhere to be seen until it is whole, and nowhere at all when its writer is killed", async () => {
    // To read all of it, in search of a change, takes longer than any test.
    await output(sandbox, "truncate -s 1T large");
    const stop = new AbortController();
    const options = { ifSha256: sha256(text("")), signal: stop.signal };
    const writing = sandbox.writeFile("large", text("new"), options);
    await expect.poll(() => stagedIn(folder)).toHaveLength(1);
    expect(await output(sandbox, "ls -A /workspace /tmp /dev/shm")).toBe(
      "/dev/shm:\n\n/tmp:\n\n/workspace:\nlarge",
    );
    expect(await sandbox.listFiles()).toMatchObject({ entries: [{ path: "large" }], truncated: false });
    expect(await sandbox.changes({ modified: 0, changed: 0 })).toMatchObject({ changed: ["large"] });
    stop.abort();
    expect(await writing).toEqual(refused("failed"));
    expect(stagedIn(folder)).toEqual([]);
  });

  test("goes when the thread is opened again after its bot was killed", async () => {
    const [left, current] = [join(folder, "new/left"), join(folder, "new/current")];
    for (const file of [left, current]) writeFileSync(file, "");
    utimesSync(left, 0, 0);
    await backend.open(thread);
    expect(stagedIn(folder)).toEqual(["current"]);
    rmSync(current);
  });

  test("takes its place in one step in every folder of the thread, by whatever way", async () => {
    await output(
      sandbox,
      "mkdir -p deep /tmp/deep /dev/shm/deep; ln -s /tmp/deep away; ln -s /dev/shm/deep far; ln -s /tmp/deep/linked file",
    );
    for (const path of ["here", "deep/here", "/tmp/here", "away/here", "far/here", "file"]) {
      expect(await sandbox.writeFile(path, text(`${path}\n`)), path).toMatchObject({ ok: true });
    }
    const places =
      "workspace/here workspace/deep/here tmp/here tmp/deep/here dev/shm/deep/here tmp/deep/linked";
    expect(await output(sandbox, `cd /; cat ${places}; readlink workspace/file`)).toBe(
      "here\ndeep/here\n/tmp/here\naway/here\nfar/here\nfile\n/tmp/deep/linked",
    );
    expect(stagedIn(folder)).toEqual([]);
  });
});

test("no link leads a file tool into the thread's folder itself", async () => {
  const folder = join(dataDir, "workspaces", sha256(text("local:test:one:1")).slice(0, 32));
  await run(
    "ln -s /thread by-name; ln -s /proc/self/cwd/.. by-place; ln -s /proc/self/root by-root; ln -s /proc/1/cwd by-first",
  );
  for (const link of ["by-name", "by-place", "by-root", "by-first"]) {
    await threads.sandbox.writeFile(`${link}/left`, text("x"));
    await threads.sandbox.writeFile(`${link}/new/left`, text("x"));
  }
  expect(readdirSync(folder).toSorted()).toEqual(["new", "shm", "tmp", "ws"]);
  expect(readdirSync(join(folder, "new"))).toEqual([]);
  await run("rm -rf by-* new left");
});

describe("readFile", () => {
  test("gives the whole file with its hash, or a part without", async () => {
    const data = Buffer.from(Array.from({ length: 100_000 }, (_, index) => index % 251));
    await threads.sandbox.writeFile("bytes", data);
    const { sandbox } = threads;
    const whole = { ok: true, data, size: 100_000, truncated: false, sha256: sha256(data) };
    expect(await sandbox.readFile("bytes")).toEqual(whole);
    const begin = { ok: true, data: data.subarray(0, 10), size: 100_000, truncated: true };
    expect(await sandbox.readFile("bytes", { maxBytes: 10 })).toEqual(begin);
    const middle = { ok: true, data: data.subarray(50_000, 50_010), size: 100_000, truncated: true };
    expect(await sandbox.readFile("bytes", { offset: 50_000, maxBytes: 10 })).toEqual(middle);
    const end = { ok: true, data: data.subarray(99_990), size: 100_000, truncated: false };
    expect(await sandbox.readFile("bytes", { offset: 99_990 })).toEqual(end);
    expect(await sandbox.readFile("bytes", { offset: 200_000 })).toMatchObject({
      data: Buffer.alloc(0),
      truncated: false,
    });
  });

  test("reads an empty file", async () => {
    await run(": >empty");
    const expected = {
      ok: true,
      data: Buffer.alloc(0),
      size: 0,
      truncated: false,
      sha256: sha256(Buffer.alloc(0)),
    };
    expect(await threads.sandbox.readFile("empty")).toEqual(expected);
  });

  test("says why it cannot, and never waits for a pipe", async () => {
    await run(
      "mkdir -p folder; mkfifo -m 600 fifo; echo >plain; ln -sf /dev/zero zero; echo >secret; chmod 0 secret",
    );
    const reasons = {
      missing: "not-found",
      folder: "is-directory",
      fifo: "not-a-file",
      zero: "not-a-file",
      "plain/below": "not-a-file",
      secret: "denied",
      "/proc/self/environ": "denied",
    };
    for (const [path, reason] of Object.entries(reasons)) {
      expect(await threads.sandbox.readFile(path), path).toEqual(refused(reason));
    }
  });

  test("reads files of /tmp", async () => {
    await threads.sandbox.writeFile("/tmp/note", text("x"));
    expect(await threads.sandbox.readFile("../tmp/note")).toMatchObject({ ok: true, data: text("x") });
  });
});

describe("listFiles", () => {
  test("lists depth first, with types and sizes, links unfollowed and without what is in .git", async () => {
    await run(
      "rm -rf list && mkdir -p list/a/b list/.git/objects list/a-b && cd list && echo 12345 >a/file && ln -s .. a/up",
    );
    await run("mkfifo list/fifo; echo >list/.git/objects/x");
    const listed = await threads.sandbox.listFiles("list");
    if (!listed.ok) throw new Error(listed.message);
    expect(listed.truncated).toBe(false);
    expect(listed.entries.map(({ path, type }) => `${path} ${type}`)).toEqual([
      "list/.git directory",
      "list/a directory",
      "list/a/b directory",
      "list/a/file file",
      "list/a/up link",
      "list/a-b directory",
      "list/fifo other",
    ]);
    const found = Object.fromEntries(listed.entries.map((entry) => [entry.path, entry]));
    expect(found["list/a/file"]?.bytes).toBe(6);
  });

  test("gives the first entries and says that there are more", async () => {
    await run("mkdir -p many && cd many && touch $(seq -w 1 50)");
    const listed = await threads.sandbox.listFiles("many", { limit: 3 });
    expect(listed).toMatchObject({ ok: true, truncated: true });
    expect(listed.ok && listed.entries.map(({ path }) => path)).toEqual(["many/01", "many/02", "many/03"]);
    expect(await threads.sandbox.listFiles("many", { limit: 50 })).toMatchObject({ truncated: false });
  });

  test("lists a file as itself, /tmp by full paths, and nothing that is missing", async () => {
    await run("echo x >alone; mkdir -p /tmp/sub; echo x >/tmp/sub/file");
    const paths = async (path: string) => {
      const listed = await threads.sandbox.listFiles(path);
      return listed.ok ? listed.entries.map((entry) => entry.path) : listed.reason;
    };
    expect(await paths("alone")).toEqual(["alone"]);
    expect(await paths("/tmp/sub")).toEqual(["/tmp/sub/file"]);
    expect(await paths("missing")).toBe("not-found");
    expect(await paths("/usr")).toBe("denied");
  });
});

describe("changes", () => {
  const never = { modified: 4_000_000_000_000, changed: 4_000_000_000_000 };
  const deleted = async () => {
    const changes = await threads.other.changes(never);
    if (!changes.ok) throw new Error(changes.message);
    expect(changes.changed).toEqual([]);
    return changes.deleted;
  };
  const runs = (command: string) => output(threads.other, command);

  test("names the files that a turn's commands have deleted or moved, whatever they are called", async () => {
    await runs(
      "mkdir -p dir/.git; touch dir/{a,b} kept 'odd -rf\n$(id)' $'bad\\xff' dir/.git/x; ln -s nowhere link",
    );
    threads.other.noteFiles("t1");
    await runs("echo new >new; rm -r dir link");
    // Again after a wait for people.
    threads.other.noteFiles("t1");
    await runs("rm new odd* bad*; echo changed >kept; mv kept moved; touch dir");
    expect(await deleted()).toEqual(["bad\ufffd", "dir/a", "dir/b", "kept", "link", "odd -rf\n$(id)"]);
    expect(await deleted()).toEqual([]);
  });

  test("tells nothing of what was gone before the turn, and of a folder with too many files", async () => {
    await runs("touch early late; mkdir many; cd many; touch {1..10001}");
    threads.other.noteFiles("t1");
    await runs("rm early");
    threads.other.noteFiles("t2");
    await runs("rm late");
    expect(await deleted()).toEqual([]);
    threads.other.noteFiles("t3");
    await runs("rm -r many; touch last");
    threads.other.noteFiles("t4");
    await runs("rm last");
    expect(await deleted()).toEqual(["last"]);
  });
});

test("any name that a file can have is written, listed and read back", async () => {
  const name = fc
    .string({ unit: "binary", minLength: 1, maxLength: 30 })
    // Not names: slash and NUL, the two dots, and what UTF-8 cannot carry. 0x01 stands for slash in a listing.
    .map((drawn) => drawn.toWellFormed().replaceAll("/", "_").replaceAll("\0", "_").replaceAll("\u0001", "_"))
    .filter((drawn) => ![".", ".."].includes(drawn) && !drawn.includes("\ufffd"));
  let round = 0;
  await fc.assert(
    fc.asyncProperty(name, fc.uint8Array({ maxLength: 200 }), async (drawn, content) => {
      const folder = `names/${round++}`;
      const path = `${folder}/${drawn}`;
      expect(await threads.sandbox.writeFile(path, content)).toEqual({ ok: true, sha256: sha256(content) });
      const read = await threads.sandbox.readFile(path);
      expect(read.ok && Buffer.compare(read.data, content)).toBe(0);
      const listed = await threads.sandbox.listFiles(folder);
      expect(listed.ok && listed.entries.map((entry) => entry.path)).toEqual([path]);
    }),
    {
      numRuns: 25,
      examples: [
        ["-rf", text("x")],
        ["$(id)\n'\"", text("")],
        [" \t\n", text("y")],
      ],
    },
  );
});

test("a command with a folder of its own shares it with nothing that the thread runs beside it", async () => {
  const { sandbox } = threads;
  const command =
    "echo mine > $HEDDLE_OWN/canary-own; touch is-there; until [ -e is-seen ]; do sleep 0.05; done; cat $HEDDLE_OWN/canary-own; rm $HEDDLE_OWN/canary-own";
  const running = sandbox.exec({ command, hasOwnFolder: true });
  const seen = await run(
    "until [ -e is-there ]; do sleep 0.05; done; echo [$HEDDLE_OWN]; ls -d /own; cat /own/canary-own /proc/*/root/own/canary-own; find / -name canary-own; touch is-seen",
  );
  expect(seen).toMatch(/^\[\]\n/);
  expect(seen).not.toMatch(/^mine|^[/].*canary-own$/m);
  expect((await running).stdout.toString()).toBe("mine\n");
});
