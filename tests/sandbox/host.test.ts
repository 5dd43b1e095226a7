import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, test } from "vitest";
import { createBubblewrapBackend } from "../../src/sandbox/bubblewrap/backend.ts";
import { shareFile } from "../../src/sandbox/bubblewrap/node.ts";
import type { Probe, SandboxBackend } from "../../src/sandbox/sandbox.ts";
import { closedFolder, dataFolder, output } from "./two-threads.ts";

const isRoot = process.getuid?.() === 0;
const folders: string[] = [];
let backend: SandboxBackend | undefined;

afterEach(async () => {
  await backend?.close();
  backend = undefined;
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function backendIn(dataDir: string): SandboxBackend {
  folders.push(dataDir);
  backend = createBubblewrapBackend({ dataDir });
  return backend;
}

const workspacesIn = (summary: string) => /workspaces in (\S+?)(?:;| \(|$)/.exec(summary)?.[1] ?? "";

describe("the probe", () => {
  test("names bubblewrap's version, the tier of limits in force and the place of the workspaces", async () => {
    const dataDir = dataFolder();
    const { ok, summary, problems } = await backendIn(dataDir).probe();
    expect({ ok, problems }).toEqual({ ok: true, problems: [] });
    expect(summary).toMatch(/^bubblewrap 0\.\d+\.\d+; limits tier [123] \(/);
    expect(workspacesIn(summary)).toBe(join(dataDir, "workspaces"));
  });

  test("fails with the cause when the folder cannot be used, and then no sandbox opens", async () => {
    const unusable = backendIn("/sys/heddle/data");
    const { ok, problems } = await unusable.probe();
    expect(ok).toBe(false);
    expect(problems).toEqual([
      { what: expect.stringContaining("/sys/heddle"), fix: expect.stringMatching(/folder/) },
    ]);
    await expect(unusable.open("a:b:c:d")).rejects.toThrow(/sys.heddle/);
  });
});

describe("the probe of another process", () => {
  const program = fileURLToPath(new URL("./print-probe.ts", import.meta.url));
  const probeAs = (dataDir: string, how: { limit?: number; uid?: number } = {}): Probe => {
    const { limit = 4_096, uid } = how;
    const { stdout, stderr } = spawnSync(
      "bash",
      ["-c", `ulimit -n ${limit}; exec "$@"`, "bash", process.execPath, program, dataDir],
      { encoding: "utf8", cwd: "/", ...(uid !== undefined && { uid, gid: uid }) },
    );
    const found = stdout.trim().split("\n").at(-1);
    if (!found) throw new Error(stderr);
    return JSON.parse(found) as Probe;
  };

  test("that may open too few files says so, and blames no profile", () => {
    const dataDir = dataFolder();
    folders.push(dataDir);
    const [problem] = probeAs(dataDir, { limit: 40 }).problems;
    expect(problem?.what).toMatch(/may open no more files \(.*EMFILE/);
    expect(problem?.fix).toContain("ulimit -n");
  });

  test.skipIf(!isRoot)("as root leaves nothing that another user's trips over", () => {
    const nobody = 65_534;
    const dataDir = dataFolder();
    folders.push(dataDir);
    chownSync(dataDir, nobody, nobody);
    const before = probeAs(dataDir, { uid: nobody });
    expect(before).toMatchObject({ ok: true });
    expect(probeAs(dataDir)).toMatchObject({ ok: true });
    expect(probeAs(dataDir, { uid: nobody })).toMatchObject({ ok: true, problems: before.problems });
  });
});

describe("a program that sandbox users cannot walk to", () => {
  const copiesOf = (folder: string) => join(folder, "copies");
  function hiddenProgram(): string {
    const folder = closedFolder();
    folders.push(folder);
    writeFileSync(join(folder, "program"), "#!/bin/sh\n", { mode: 0o755 });
    return folder;
  }

  test("is linked, so that it takes no space, and the second start finds what the first has left", () => {
    const folder = hiddenProgram();
    const shared = shareFile(join(folder, "program"), copiesOf(folder));
    expect(statSync(shared).ino).toBe(statSync(join(folder, "program")).ino);
    expect(shareFile(join(folder, "program"), copiesOf(folder))).toBe(shared);
    expect(readdirSync(copiesOf(folder))).toHaveLength(1);
  });

  test("is copied, for all to run, where only its owner may run it, and again when it has changed", () => {
    const folder = hiddenProgram();
    chmodSync(join(folder, "program"), 0o700);
    const shared = shareFile(join(folder, "program"), copiesOf(folder));
    const { ino, mode } = statSync(shared);
    expect(mode & 0o777).toBe(0o755);
    shareFile(join(folder, "program"), copiesOf(folder));
    expect(statSync(shared).ino).toBe(ino);
    writeFileSync(join(folder, "program"), "#!/bin/sh\nexit 1\n");
    shareFile(join(folder, "program"), copiesOf(folder));
    expect(readFileSync(shared, "utf8")).toBe("#!/bin/sh\nexit 1\n");
  });

  test("is taken from what a process that has ended has left, which is then removed", () => {
    const folder = hiddenProgram();
    chmodSync(join(folder, "program"), 0o700);
    const shared = shareFile(join(folder, "program"), copiesOf(folder));
    const left = join(copiesOf(folder), "99999999-node");
    renameSync(shared, left);
    const { ino } = statSync(left);
    expect(statSync(shareFile(join(folder, "program"), copiesOf(folder))).ino).toBe(ino);
    expect(existsSync(left)).toBe(false);
  });
});

describe("a host of another kind is refused:", () => {
  test.each([
    ["platform", "win32", /^The sandbox needs Linux; this is win32.*WSL 2/],
    ["platform", "darwin", /^The sandbox needs Linux; this is darwin.*container.*sandbox\.backend: none/],
    ["arch", "riscv64", /^There is no system call filter for the riscv64/],
  ] as const)("its %s is %s", async (property, value, what) => {
    const real = process[property];
    try {
      Object.defineProperty(process, property, { value });
      const { ok, problems } = await backendIn(dataFolder()).probe();
      const said = problems.map((problem) => `${problem.what} ${problem.fix}`).join("\n");
      expect({ ok, said }).toEqual({ ok: false, said: expect.stringMatching(what) });
    } finally {
      Object.defineProperty(process, property, { value: real });
    }
  });
});

describe("a bot in namespaces of a container", () => {
  /** What the probe finds there, when hosts are listed and another file stands in the place of a program. */
  function probeUnder(unshare: string[], program?: string, instead = "/dev/null", supervised = false) {
    const dataDir = dataFolder();
    folders.push(dataDir);
    const module = (name: string) =>
      JSON.stringify(new URL(`../../src/sandbox/${name}.ts`, import.meta.url).href);
    const code = `
      import { createBubblewrapBackend } from ${module("bubblewrap/backend")};
      import { createEgress } from ${module("egress/egress")};
      const rules = { allow: ["listed.example"], channels: {}, credentials: [] };
      const egress = createEgress({ rules, limits: { connections: 1, bytesPerDay: 1 }, log() {} });
      const backend = createBubblewrapBackend({ dataDir: ${JSON.stringify(dataDir)}, egress });
      console.log(JSON.stringify(await backend.probe()));
      await backend.close();`;
    const worker = ["--input-type=module", "-e", code];
    const supervisor = `require("child_process").spawnSync(process.execPath, ${JSON.stringify(worker)}, { stdio: "inherit" })`;
    const node = [process.execPath, ...(supervised ? ["-e", supervisor] : worker)];
    const hide = `place=$(command -v ${program}); test -z "$place" || mount --bind ${instead} "$place"; exec "$@"`;
    const shell = program ? ["sh", "-c", hide, "sh"] : [];
    const user = isRoot || unshare.includes("--user") ? [] : ["--user", "--map-current-user", "--keep-caps"];
    const { stdout, stderr } = spawnSync("unshare", [...user, ...unshare, ...shell, ...node], {
      timeout: 90_000,
      encoding: "utf8",
    });
    // What the program above prints.
    return stdout ? (JSON.parse(stdout) as Probe) : stderr;
  }

  test("is refused as root where there are no user ids to give to threads", () => {
    expect(probeUnder(["--user", "--map-root-user"])).toMatchObject({
      ok: false,
      problems: [{ what: expect.stringContaining("must not run as root"), fix: expect.any(String) }],
    });
  });

  test("is warned as well where process 1 supervises it, as with `heddle start`", (context) => {
    context.skip(!isRoot, "only root can make a PID namespace that sandboxes can be made in");
    expect(probeUnder(["--pid", "--fork", "--mount-proc"], undefined, undefined, true)).toMatchObject({
      ok: true,
      problems: expect.arrayContaining([
        { what: expect.stringContaining("process 1"), fix: expect.stringContaining("--init") },
      ]),
    });
  });

  test("is warned as process 1, which does not collect what has ended, and of a way out without socat", (context) => {
    context.skip(!isRoot, "only root can make a PID namespace that sandboxes can be made in");
    expect(probeUnder(["--pid", "--fork", "--mount-proc"], "socat")).toMatchObject({
      ok: true,
      problems: [
        { what: expect.stringContaining("process 1"), fix: expect.stringContaining("--init") },
        {
          what: expect.stringContaining("socat was not found"),
          fix: expect.stringContaining("install socat"),
        },
      ],
    });
  });

  test("is refused where user namespaces are switched off, with bubblewrap's own words and the fix", () => {
    const user = ["--user", "--map-user=1000", "--map-group=1000", "--keep-caps"];
    const shut = `echo 0 >/proc/sys/user/max_user_namespaces; exec setpriv --ambient-caps=-all --inh-caps=-all "$@"`;
    expect(probeUnder([...user, "sh", "-c", shut, "sh"])).toMatchObject({
      ok: false,
      problems: expect.arrayContaining([
        {
          what: expect.stringMatching(/^User namespaces are switched off \(bwrap: [^(]*\(ENOSPC\)\)\.$/),
          fix: expect.stringContaining("max_user_namespaces"),
        },
      ]),
    });
  });

  test("is refused when its self-test finds a promise broken, such as the limit of processes", () => {
    // A hard limit below that of the sandbox, which cannot be set then.
    const limited = ["setpriv", "--ambient-caps=-all", "--inh-caps=-all", "prlimit", "--nproc=150:150"];
    expect(probeUnder(["--mount", ...limited])).toMatchObject({
      ok: false,
      problems: expect.arrayContaining([
        {
          what: "Sandbox self-test failed: the process limit is not in force.",
          fix: expect.stringContaining("Do not run Heddle"),
        },
      ]),
    });
  });

  test.each([
    ["without bubblewrap", "bwrap", "/dev/null", /^bubblewrap was not found/, /install bubblewrap/],
    ["without nsenter", "nsenter", "/dev/null", /^nsenter was not found/, /install util-linux/],
    ["with an old bubblewrap", "bwrap", "old", /^bubblewrap 0\.7\.0 is too old/, /Install bubblewrap 0\.8/],
  ])("is refused %s, and told what to install", (_how, program, instead, what, fix) => {
    const old = join(closedFolder(), "bwrap");
    folders.push(dirname(old));
    writeFileSync(old, "#!/bin/sh\necho bubblewrap 0.7.0\n", { mode: 0o755 });
    const place = instead === "old" ? old : instead;
    expect(probeUnder(["--mount"], program, place)).toMatchObject({
      ok: false,
      problems: expect.arrayContaining([
        { what: expect.stringMatching(what), fix: expect.stringMatching(fix) },
      ]),
    });
  });
});

describe("the place of the workspaces", () => {
  test("is the data folder, with a folder for each thread that only its owner can enter, of a root bot another each time", async () => {
    const dataDir = dataFolder();
    const opened = backendIn(dataDir);
    await Promise.all(["a:b:c:1", "a:b:c:2", "a:b:c:3"].map((thread) => opened.open(thread)));
    const workspaces = join(dataDir, "workspaces");
    expect(statSync(workspaces).mode & 0o777).toBe(0o711);
    const threads = readdirSync(workspaces);
    const owners = threads.map((thread) => statSync(join(workspaces, thread, "ws")).uid);
    if (isRoot) expect(new Set(owners).size).toBe(owners.length);
    for (const thread of threads) {
      const status = statSync(join(workspaces, thread));
      expect(status.mode & 0o777).toBe(0o700);
      expect(status.uid).not.toBe(0);
      expect(readdirSync(join(workspaces, thread)).toSorted()).toEqual(["new", "shm", "tmp", "ws"]);
    }
  });

  test("is another folder when sandbox users cannot walk to the data folder", async (context) => {
    context.skip(!isRoot, "only a root bot has users to give to threads");
    const dataDir = closedFolder();
    const opened = backendIn(dataDir);
    const { ok, summary } = await opened.probe();
    expect(ok).toBe(true);
    expect(summary).toContain("sandbox users cannot reach the data folder");
    const workspaces = workspacesIn(summary);
    folders.push(join(workspaces, ".."));
    expect(workspaces).toMatch(/^\/var\/lib\/heddle\/[0-9a-f]{16}\/workspaces$/);
    expect(await output(await opened.open("a:b:c:d"), "echo hello >file; cat file")).toBe("hello");
    expect(existsSync(join(dataDir, "workspaces"))).toBe(false);
  });
});

test("a thread finds its files again, through another backend of the same host as well", async () => {
  const dataDir = dataFolder();
  const first = await backendIn(dataDir).open("a:b:c:d");
  expect(await backend?.open("a:b:c:d")).toBe(first);
  await first.writeFile("kept", Buffer.from("still here"));
  await backend?.close();
  const again = await backendIn(dataDir).open("a:b:c:d");
  expect(await output(again, "cat kept")).toBe("still here");
});

test("a thread in which nothing has run for two days is let go, and finds its files again", async () => {
  const dataDir = dataFolder();
  folders.push(dataDir);
  let time = Date.now();
  const opened = (backend = createBubblewrapBackend({ dataDir, now: () => time }));
  const [idle, busy] = await Promise.all(["a:b:c:idle", "a:b:c:busy"].map((id) => opened.open(id)));
  const jobs = await Promise.all([
    idle?.start({ command: "echo text >file" }),
    busy?.start({ command: "sleep 60" }),
  ]);
  if (jobs[0]?.ok) await jobs[0].job.wait();
  time += 2 * 86_400_000 + 1;
  await opened.open("a:b:c:other");
  expect(opened.opened("a:b:c:idle")).toBeUndefined();
  expect(opened.opened("a:b:c:busy")?.sandbox).toBe(busy);
  expect([idle, busy].map((sandbox) => sandbox?.jobs().length)).toEqual([0, 1]);
  expect(await output(await opened.open("a:b:c:idle"), "cat file")).toBe("text");
  expect((await busy?.killAll())?.commands).toBe(1);
});

test("an idle backend does not keep its process from ending", () => {
  const dataDir = dataFolder();
  folders.push(dataDir);
  const module = JSON.stringify(new URL("../../src/sandbox/bubblewrap/backend.ts", import.meta.url).href);
  const program = `
    import { createBubblewrapBackend } from ${module};
    const sandbox = await createBubblewrapBackend({ dataDir: ${JSON.stringify(dataDir)} }).open("a:b:c:d");
    process.stdout.write((await sandbox.exec({ command: "echo done" })).stdout);`;
  const { stdout, status } = spawnSync(process.execPath, ["--input-type=module", "-e", program], {
    timeout: 60_000,
  });
  expect([stdout.toString(), status]).toEqual(["done\n", 0]);
});
