import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { createBubblewrapBackend } from "../../src/sandbox/bubblewrap/backend.ts";
import type { Checkpoints } from "../../src/sandbox/checkpoints.ts";
import { insideProgram, unpackFiles } from "../../src/sandbox/checkpoints/inside.ts";
import type { RestoreStep } from "../../src/sandbox/checkpoints/thread-checkpoints.ts";
import { createUnconfinedBackend } from "../../src/sandbox/plain/backend.ts";
import { createFolderStore } from "../../src/sandbox/workspaces/store.ts";
import type { Sandbox, SandboxBackend } from "../../src/sandbox/sandbox.ts";
import { dataFolder, output } from "./two-threads.ts";

const thread = "local:test:undo:1";
const mebibyte = 1_048_576;
const day = 86_400_000;

const leftovers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const clean of leftovers.splice(0).toReversed()) await clean();
});

async function open(
  options: {
    dataDir?: string;
    most?: number;
    bytes?: number;
    now?(): number;
    reached?(step: RestoreStep): Promise<void>;
    create?: typeof createBubblewrapBackend;
  } = {},
): Promise<{ dataDir: string; backend: SandboxBackend; sandbox: Sandbox; checkpoints: Checkpoints }> {
  const {
    most = 20,
    bytes = 64 * mebibyte,
    now = Date.now,
    reached,
    create = createBubblewrapBackend,
  } = options;
  const dataDir = options.dataDir ?? dataFolder();
  const backend = create({
    dataDir,
    now,
    checkpoints: { most, bytes, ageMs: 7 * day, ...(reached && { reached }) },
  });
  leftovers.push(async () => {
    await backend.close();
    rmSync(dataDir, { recursive: true, force: true });
  });
  const sandbox = await backend.open(thread);
  const checkpoints = await backend.checkpoints?.();
  if (!checkpoints) throw new Error("There are no checkpoints.");
  return { dataDir, backend, sandbox, checkpoints };
}

/** Content, modes and links of everything in the workspace. */
const look = `find . -mindepth 1 -printf '%y %m %P %l\\n' | sort; find . -type f -print0 | sort -z | xargs -0 sha256sum`;

function packBytes(dataDir: string): number {
  const folder = join(dataDir, "checkpoints");
  if (!existsSync(folder)) return 0;
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".pack"),
  );
  return names.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
}

/** Whatever is easily lost. */
const work = `
mkdir -p src/deep empty shut && echo one >src/a && echo two >src/deep/b && printf x >'-n' && ln -s ../src/a src/deep/link
ln -s /etc/passwd out && ln src/a hard && printf '#!/bin/sh\\n' >run.sh && chmod 750 run.sh && echo s >shut/in && chmod 500 shut
printf 'ü\\n' >'a name
with a line' && touch "$(printf 'bad\\377name')" && : >nothing && head -c 300000 /dev/urandom >big`;

describe("the files of a turn", () => {
  test("are back after a restore with content, modes and links, whatever their names", async () => {
    const { sandbox, checkpoints } = await open();
    await output(sandbox, work);
    const before = await output(sandbox, look);
    sandbox.noteFiles("t2");
    await output(
      sandbox,
      "chmod -R u+w .; rm -rf src/deep out; echo new >src/a; mkdir out; echo y >out/y; rm run.sh; mv big bigger",
    );
    expect(await output(sandbox, look)).not.toBe(before);

    expect(await checkpoints.restore(thread, "t2")).toEqual({ ok: true });
    expect(await output(sandbox, look)).toBe(before);
    expect(await checkpoints.isCurrent(thread, "t2")).toBe(true);
  });

  test("count as they are also where their owner may not read them, before a restore and after it", async () => {
    const { sandbox, checkpoints } = await open();
    await output(sandbox, "echo s >secret; mkdir shut; echo in >shut/in; chmod 300 shut; chmod 200 secret");
    await checkpoints.keep(thread, "t");
    expect(await checkpoints.isCurrent(thread, "t")).toBe(true);
    await output(sandbox, "rm -r shut; echo other >secret; chmod 000 secret");
    expect(await checkpoints.restore(thread, "t")).toEqual({ ok: true });
    expect(await checkpoints.isCurrent(thread, "t")).toBe(true);
    expect(await output(sandbox, "cat secret shut/in")).toBe("s\nin");
  });

  test("are kept before the first command that may write, and by no look", async () => {
    const { sandbox, checkpoints } = await open();
    sandbox.noteFiles("t1");
    await sandbox.listFiles();
    await sandbox.exec({ command: "ls", isReadOnly: true });
    expect(await checkpoints.find(thread, "t1")).toBeUndefined();
    await sandbox.writeFile("a", Buffer.from("a"));
    await sandbox.writeFile("b", Buffer.from("b"));
    expect(await checkpoints.find(thread, "t1")).toMatchObject({ files: 0, bytes: 0 });
  });

  test("are kept no longer than until a stop, which ends the command that waits for them", async () => {
    const { sandbox } = await open({ create: createUnconfinedBackend, bytes: 512 * mebibyte });
    await output(sandbox, "truncate -s 200M one two");
    sandbox.noteFiles("t1");
    const running = sandbox.exec({ command: "touch ran" });
    await sandbox.killAll();
    expect(await running).toMatchObject({ end: "stopped" });
    expect(await output(sandbox, "ls")).toBe("one\ntwo");
  });

  test("are kept by the worker that goes on with a turn whose first one had to end before they were", async () => {
    const first = await open({ create: createUnconfinedBackend, bytes: 512 * mebibyte });
    await output(first.sandbox, "truncate -s 200M one two");
    first.sandbox.noteFiles("t1");
    const running = first.sandbox.exec({ command: "touch ran" });
    await first.sandbox.killAll();
    expect(await running).toMatchObject({ end: "stopped" });
    const next = await open({
      create: createUnconfinedBackend,
      bytes: 512 * mebibyte,
      dataDir: first.dataDir,
    });
    next.sandbox.noteFiles("t1");
    await output(next.sandbox, "touch ran");
    expect(await next.checkpoints.restore(thread, "t1")).toEqual({ ok: true });
    expect(await output(next.sandbox, "ls")).toBe("one\ntwo");
  });

  test("cost what has changed", async () => {
    const { sandbox, checkpoints, dataDir } = await open();
    await output(sandbox, "head -c 1000000 /dev/urandom >big");
    await checkpoints.keep(thread, "a");
    await checkpoints.keep(thread, "b");
    expect(packBytes(dataDir)).toBe(1_000_000);
    await output(sandbox, "head -c 1000 /dev/urandom >small");
    await checkpoints.keep(thread, "c");
    expect(packBytes(dataDir)).toBe(1_001_000);
    // In its new place all of it counts as known.
    await checkpoints.restore(thread, "b");
    await checkpoints.keep(thread, "d");
    expect(packBytes(dataDir)).toBe(1_001_000);
  });

  test("tell what bringing them back would change", async () => {
    const { sandbox, checkpoints } = await open();
    await output(sandbox, "echo 1 >changed; echo 2 >gone; echo 3 >same");
    await checkpoints.keep(thread, "before");
    await output(sandbox, "echo 11 >changed; rm gone; mkdir -p new; echo 4 >new/file");
    await checkpoints.keep(thread, "present");
    expect(await checkpoints.compare(thread, "present", "before")).toEqual({
      restored: ["changed", "gone"],
      removed: ["new/file"],
      bytes: 4,
    });
    expect(await checkpoints.isCurrent(thread, "present")).toBe(true);
    await output(sandbox, "echo 5 >same");
    expect(await checkpoints.isCurrent(thread, "present")).toBe(false);
  });

  test("are known again when the workspace comes out of its archive, or from another host", async () => {
    const { sandbox, checkpoints, backend, dataDir } = await open();
    await output(sandbox, `${work}; echo 1 >changed; chmod 700 shut`);
    await checkpoints.keep(thread, "before");
    await output(sandbox, "echo 2 >changed");
    await checkpoints.keep(thread, "present");
    const bytes = packBytes(dataDir);
    const workspaces = await backend.workspaces();
    const archive = () => workspaces.clean({ idleMs: 0, archiveMs: day });
    expect((await archive())?.archived).toEqual([thread]);
    const again = await backend.open(thread);
    expect(await checkpoints.isCurrent(thread, "present")).toBe(true);
    await output(again, "echo 3 >changed; echo four >more");
    expect(await checkpoints.isCurrent(thread, "present")).toBe(false);
    await archive();
    await checkpoints.keep(thread, "later");
    expect(await checkpoints.compare(thread, "later", "before")).toMatchObject({
      restored: ["changed"],
      removed: ["more"],
    });
    expect(packBytes(dataDir)).toBe(bytes + 7);
    expect(await checkpoints.restore(thread, "before")).toEqual({ ok: true });
    expect(await output(again, "cat changed; sha256sum big | cut -c 1-9; ls more 2>&1")).toMatch(
      /^1\n\w{9}\nls/,
    );
  });

  test("fill the workspace of another thread, whose user they then belong to", async () => {
    const { sandbox, checkpoints, backend } = await open();
    await output(sandbox, work);
    await checkpoints.keep(thread, "fork");
    expect(await checkpoints.copy(thread, "fork", "local:test:undo:2")).toEqual({ ok: true });
    const other = await backend.open("local:test:undo:2");
    expect(await output(other, look)).toBe(await output(sandbox, look));
    expect(await output(other, "echo mine >src/a; cat hard")).toBe("one");
  });
});

test("files of another thread that cannot be saved for other workers are not left on this host", async () => {
  const dataDir = dataFolder();
  const store = createFolderStore(join(dataDir, "store"));
  const put: typeof store.put = async (key, of, ...rest) => {
    if (of !== thread) throw new Error("The store is full.");
    return store.put(key, of, ...rest);
  };
  const checkpoints = { most: 20, bytes: 64 * mebibyte, ageMs: 7 * day };
  const backend = createUnconfinedBackend({ dataDir, store: { ...store, put }, checkpoints });
  leftovers.push(async () => {
    await backend.close();
    rmSync(dataDir, { recursive: true, force: true });
  });
  await output(await backend.open(thread), "echo secret >file");
  const kept = (await backend.checkpoints?.()) ?? expect.fail();
  await kept.keep(thread, "fork");
  await expect(kept.copy(thread, "fork", "local:test:undo:2")).rejects.toThrow("The store is full.");
  expect((await (await backend.workspaces()).list()).map(({ threadId }) => threadId)).toEqual([thread]);
  expect(await output(await backend.open("local:test:undo:2"), "ls")).toBe("");
});

describe("the room for what is kept", () => {
  test("keeps nothing of a workspace that is larger, and says so", async () => {
    const { sandbox, checkpoints } = await open({ bytes: mebibyte });
    await output(sandbox, "head -c 2000000 /dev/zero >big");
    const kept = await checkpoints.keep(thread, "t");
    expect(kept.lost).toBe("the workspace has 2 MB, and up to 1 MB are kept (undo.megabytes)");
    expect(await checkpoints.restore(thread, "t")).toEqual({ ok: false, why: kept.lost });
    expect(await output(sandbox, "stat -c %s big")).toBe("2000000");
  });

  test("holds the newest checkpoints, and the others say why they are gone", async () => {
    let time = 1_000 * day;
    const { sandbox, checkpoints } = await open({ most: 2, now: () => time });
    for (const name of ["a", "b", "c"]) {
      await output(sandbox, `echo ${name} >file`);
      await checkpoints.keep(thread, name);
    }
    expect((await checkpoints.find(thread, "a"))?.lost).toBe("only the newest 2 are kept (undo.checkpoints)");
    time += 8 * day;
    await checkpoints.keep(thread, "d");
    expect((await checkpoints.find(thread, "c"))?.lost).toBe("it is too long ago (undo.days)");
  });

  test("is not taken from turns by looks at what an undo would change", async () => {
    const { sandbox, checkpoints } = await open({ most: 1 });
    sandbox.noteFiles("turn");
    await output(sandbox, "echo 1 >file");
    for (const name of ["one", "two"]) {
      await checkpoints.keep(thread, name);
      expect(await checkpoints.compare(thread, name, "turn")).toMatchObject({ removed: ["file"] });
    }
    expect(await checkpoints.restore(thread, "turn")).toEqual({ ok: true });
    expect(await checkpoints.restore(thread, "two")).toEqual({ ok: true });
    sandbox.noteFiles("next");
    await output(sandbox, "echo 2 >file");
    expect((await checkpoints.find(thread, "turn"))?.lost).toContain("only the newest 1 are kept");
  });

  test.each([
    ["and both can be brought back", 900_000, undefined],
    [
      "also where the files of now have none beside them",
      1_200_000,
      expect.stringContaining("undo.megabytes"),
    ],
  ])("is taken from no turn by a look at what its undo would change, %s", async (_, bytes, lost) => {
    const { sandbox, checkpoints } = await open({ bytes: 2 * mebibyte });
    const change = `head -c ${bytes} /dev/urandom >big`;
    for (const turn of ["earlier", "turn"]) {
      await output(sandbox, change);
      sandbox.noteFiles(turn);
      await output(sandbox, "true");
    }
    const before = await output(sandbox, look);
    await output(sandbox, `${change}; echo 1 >new`);
    const now = await output(sandbox, look);
    expect((await checkpoints.keep(thread, "present", "turn")).lost).toEqual(lost);
    expect(await checkpoints.isCurrent(thread, "present")).toBe(true);
    expect(await checkpoints.compare(thread, "present", "turn")).toEqual({
      ...{ restored: ["big"], removed: ["new"], bytes },
    });
    expect(await checkpoints.restore(thread, "turn")).toEqual({ ok: true });
    expect(await output(sandbox, look)).toBe(before);
    expect(await checkpoints.restore(thread, "present")).toMatchObject({ ok: lost === undefined });
    expect(await output(sandbox, look)).toBe(lost === undefined ? now : before);
  });

  test("is made by dropping the oldest, and what is left can still be brought back", async () => {
    const { sandbox, checkpoints } = await open({ bytes: 3 * mebibyte });
    await output(sandbox, "head -c 1000000 /dev/urandom >constant");
    for (const name of ["a", "b", "c", "d"]) {
      await output(sandbox, "head -c 1000000 /dev/urandom >big");
      await checkpoints.keep(thread, name);
    }
    const before = await output(sandbox, look);
    expect((await checkpoints.find(thread, "a"))?.lost).toContain("was needed for later turns");
    await output(sandbox, "rm big constant");
    expect(await checkpoints.restore(thread, "d")).toEqual({ ok: true });
    expect(await output(sandbox, look)).toBe(before);
  });
});

test("what is kept goes with the workspace", async () => {
  const { sandbox, checkpoints, backend, dataDir } = await open({ create: createUnconfinedBackend });
  await output(sandbox, "echo 1 >file");
  await checkpoints.keep(thread, "t");
  expect(packBytes(dataDir)).toBe(2);
  expect(await (await backend.workspaces()).remove(thread, Date.now())).toBe(true);
  expect(readdirSync(join(dataDir, "checkpoints"))).toEqual([]);
});

describe("a restore", () => {
  test("leaves everything as it was where it is called off", async () => {
    const { sandbox, checkpoints } = await open();
    await checkpoints.keep(thread, "empty");
    await output(sandbox, "echo 1 >file");
    expect(await checkpoints.restore(thread, "empty", async () => false)).toMatchObject({ ok: false });
    expect(await output(sandbox, "cat file")).toBe("1");
  });

  test("is refused while something runs", async () => {
    const { sandbox, checkpoints } = await open();
    await checkpoints.keep(thread, "empty");
    const started = await sandbox.start({ command: "sleep 30" });
    expect(await checkpoints.restore(thread, "empty")).toEqual({
      ok: false,
      why: "something is running there",
    });
    if (started.ok) await started.job.kill();
  });

  test("is not refused while somebody looks at the files, as the console does after each message", async () => {
    const { sandbox, checkpoints } = await open();
    await checkpoints.keep(thread, "empty");
    await output(sandbox, "mkfifo gate; echo 1 >file");
    // What the console runs to list files is of this kind, and may be slow.
    const started = Promise.withResolvers<unknown>();
    const looking = sandbox.exec({
      ...{ command: "echo here; cat gate", isUncalled: true },
      onOutput: started.resolve,
    });
    await started.promise;
    expect(await checkpoints.restore(thread, "empty")).toMatchObject({ ok: true });
    expect(await output(sandbox, "ls")).toBe("");
    await sandbox.killAll();
    expect(await looking).toMatchObject({ end: "stopped" });
  });

  test("is called off, and changes nothing, where whoever brings it back has to end", async () => {
    const { sandbox, checkpoints } = await open();
    await output(sandbox, work);
    await checkpoints.keep(thread, "t");
    await output(sandbox, "chmod -R u+w .; rm -rf src; echo 1 >extra");
    const now = await output(sandbox, look);
    const ending = new AbortController();
    const restoring = checkpoints.restore(thread, "t", async () => true, ending.signal);
    ending.abort(new Error("It ends."));
    await expect(restoring).rejects.toThrow("It ends.");
    expect(await output(sandbox, look)).toBe(now);
    expect(await checkpoints.restore(thread, "t")).toEqual({ ok: true });
  });

  test.each<RestoreStep>(["filled", "committed", "moved-away", "moved-in", "noted", "saved"])(
    "that a process died in behind “%s” is done by whoever repeats it",
    async (at) => {
      const { promise: died, resolve } = Promise.withResolvers<void>();
      const first = await open({
        create: createUnconfinedBackend,
        reached: (step) => (step === at ? (resolve(), new Promise(() => {})) : Promise.resolve()),
      });
      await output(first.sandbox, work);
      const before = await output(first.sandbox, look);
      await first.checkpoints.keep(thread, "t");
      await output(first.sandbox, "chmod -R u+w .; rm -rf src; echo 1 >extra");
      void first.checkpoints.restore(thread, "t");
      await died;

      const second = await open({ create: createUnconfinedBackend, dataDir: first.dataDir });
      expect(await second.checkpoints.restore(thread, "t")).toEqual({ ok: true });
      expect(await output(second.sandbox, look)).toBe(before);
    },
  );
});

test("without a sandbox files are kept and brought back, too", async () => {
  const { sandbox, checkpoints } = await open({ create: createUnconfinedBackend });
  await output(sandbox, "echo 1 >file; ln -s file link");
  const before = await output(sandbox, look);
  await checkpoints.keep(thread, "t");
  await output(sandbox, "rm file link; mkdir file");
  expect(await checkpoints.restore(thread, "t")).toEqual({ ok: true });
  expect(await output(sandbox, look)).toBe(before);
});

test("what fails while files are made is said in one line", () => {
  const folder = dataFolder();
  leftovers.push(() => rmSync(folder, { recursive: true }));
  const pack = join(folder, "pack");
  writeFileSync(pack, "too short");
  const input = ["f", "644", "1", "10", "made", "", ""].join("\0");
  const program = ["--input-type=module", "--eval", insideProgram(unpackFiles), pack];
  const { status, stderr } = spawnSync(process.execPath, program, { cwd: folder, input, encoding: "utf8" });
  expect({ status, stderr }).toEqual({ status: 1, stderr: "The kept files end too early.\n" });
});
