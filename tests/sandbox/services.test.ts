import { type ChildProcess, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createBubblewrapBackend } from "../../src/sandbox/bubblewrap/backend.ts";
import { createEgress } from "../../src/sandbox/egress/egress.ts";
import type { SandboxLimits } from "../../src/sandbox/limits.ts";
import type { SandboxBackend } from "../../src/sandbox/sandbox.ts";
import type { Service, ServiceAccess, ServiceEnd, ServiceStart } from "../../src/sandbox/service.ts";
import { listProcessesNaming } from "../../src/sandbox/thread/processes.ts";
import { type StandIn, standIn } from "./egress/internet.ts";
import { closedFolder, dataFolder, secret } from "./two-threads.ts";
import { listen } from "../fakes/listen.ts";

const nothing: ServiceAccess = { read: [], write: [], network: [] };
const dataDir = dataFolder();
const secretFolder = closedFolder();
let world: StandIn;
let backend: SandboxBackend;

beforeAll(async () => {
  process.env["SLACK_BOT_TOKEN"] = secret;
  writeFileSync(join(secretFolder, ".env"), `SLACK_BOT_TOKEN=${secret}\n`);
  chmodSync(secretFolder, 0o755);
  world = await standIn({ "listed.example": ["93.184.216.34"], "other.example": ["93.184.216.35"] });
  backend = open({});
});
afterAll(async () => {
  delete process.env["SLACK_BOT_TOKEN"];
  await backend.close();
  await world.close();
  for (const folder of [dataDir, secretFolder]) rmSync(folder, { recursive: true });
});

function open(limits: Partial<SandboxLimits>): SandboxBackend {
  const egress = createEgress({
    rules: { allow: ["other.example"], channels: {}, credentials: [] },
    limits: { connections: 4, bytesPerDay: 10_000_000 },
    dialer: world.dialer,
    log: () => {},
  });
  return createBubblewrapBackend({ dataDir, egress, limits, secretFiles: [join(secretFolder, ".env")] });
}

interface Run {
  service: Service;
  ended: Promise<ServiceEnd>;
  output(): string;
  bytes(): number;
}

async function serve(
  script: string,
  access: Partial<ServiceAccess> = {},
  options: { env?: Record<string, string>; cwd?: string; on?: SandboxBackend; args?: string[] } = {},
): Promise<Run> {
  const { env = {}, cwd, on = backend, args = [] } = options;
  const chunks: Buffer[] = [];
  const started = await on.serve({
    ...{ name: "test", command: "/bin/bash", args: ["-c", script, "bash", ...args], env, cwd },
    access: { ...nothing, ...access },
    onOutput: (_stream, chunk) => chunks.push(chunk),
  });
  if (!started.ok) throw new Error(started.problem);
  const { service } = started;
  onTestFinished(() => service.kill());
  return {
    service,
    ended: service.ended,
    output: () => Buffer.concat(chunks).toString(),
    bytes: () => chunks.reduce((sum, { length }) => sum + length, 0),
  };
}

/** What a script says before it ends. */
async function outputOf(...request: Parameters<typeof serve>): Promise<string> {
  const { ended, output } = await serve(...request);
  await ended;
  return output().trim();
}

async function refusalOf(access: Partial<ServiceAccess>, cwd?: string): Promise<string> {
  const started: ServiceStart = await backend.serve({
    ...{ name: "test", command: "true", args: [], env: {}, cwd, access: { ...nothing, ...access } },
    onOutput: () => {},
  });
  if (!started.ok) return started.problem;
  await started.service.kill();
  return "it was started";
}

/** A folder of the host with a file in it, that everybody may use. */
function hostFolder(): string {
  const folder = closedFolder();
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, "file"), "from the host");
  for (const path of [folder, join(folder, "file")]) chmodSync(path, 0o777);
  return folder;
}

describe("a service is spoken to", () => {
  test("over its standard input and output, and ends when its input does", async () => {
    const { service, ended, output } = await serve('while read -r line; do echo "heard $line"; done');
    await service.write(Buffer.from("one\n"));
    await expect.poll(output).toBe("heard one\n");
    await service.write(Buffer.from("two\n"));
    service.closeInput();
    expect(await ended).toEqual({ exitCode: 0 });
    expect(output()).toBe("heard one\nheard two\n");
    await expect(service.write(Buffer.from("three\n"))).rejects.toThrow();
  });

  test("and what it writes without end waits for a bot that does not read", async () => {
    const { service, ended, bytes } = await serve("yes");
    await expect.poll(bytes).toBeGreaterThan(0);
    // The bot stands still, as in a long computation.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000);
    const before = bytes();
    await service.kill();
    await ended;
    expect(bytes() - before).toBeLessThan(16 * 1_048_576);
  });
});

describe("a service sees", () => {
  test("the variables of its entry and no others, and they are on no command line", async () => {
    const env = { API_TOKEN: "entry-canary-0815" };
    const { service, output } = await serve(
      "env; tr '\\0' '\\n' </proc/1/environ; echo done; read",
      {},
      { env },
    );
    await expect.poll(output).toContain("done");
    const names = output().match(/^\w+(?==)/gm) ?? [];
    expect(names).toContain("API_TOKEN");
    const known = [
      "API_TOKEN",
      "PATH",
      "HOME",
      "SHLVL",
      "SHELL",
      "LC_CTYPE",
      "TERM",
      "EMAIL",
      "PWD",
      "OLDPWD",
      "_",
    ];
    const proxies = /^(https?|no)_proxy$|^NODE_USE_ENV_PROXY$/i;
    expect(names.filter((name) => !known.includes(name) && !proxies.test(name))).toEqual([]);
    expect(output()).not.toContain(secret);
    expect(listProcessesNaming("entry-canary-0815")).toEqual([]);
    await service.kill();
  });

  test("no file, process, descriptor or loopback listener of the host", async () => {
    const listener = createServer((socket) => socket.end(secret));
    const port = await listen(listener);
    onTestFinished(() => void listener.close());
    const script = `
      cat /proc/*/environ /proc/*/cmdline "$1/.env" "$2"/* </dev/null 2>/dev/null | tr '\\0' '\\n' | grep -ao "$3"
      for file in /proc/*/fd/*; do readlink "$file"; done | grep -v "^pipe:\\|^socket:\\|^anon_inode:\\|^/dev/null$\\|^/dev/shm/heddle-\\|^/proc/"
      (exec 4<>/dev/tcp/127.0.0.1/$4) 2>/dev/null && echo loopback
      ls -d "$1" "$2" /home /root /var /etc/passwd- /run/* 2>/dev/null
      echo "processes $(ls -d /proc/[0-9]* | wc -l)"
    `;
    // In pieces, or the command line itself would have it.
    const args = [secretFolder, dataDir, "xoxb-[c]anary-4711", String(port)];
    expect(await outputOf(script, {}, { args })).toMatch(/^processes \d$/);
  });

  test("no descriptor and no more processes, whatever its variables are", async () => {
    const prepared = await outputOf("echo $(ls /proc/self/fd); ulimit -u");
    expect(prepared).toMatch(/^0 1 2 3\n\d+$/);
    for (const env of [
      { POSIXLY_CORRECT: "" },
      { SHELLOPTS: "posix" },
      { BASH_ENV: "/dev/null", ENV: "/dev/null" },
    ])
      expect(await outputOf("echo $(ls /proc/self/fd); ulimit -u", {}, { env })).toBe(prepared);
  });

  test("no way to have another process killed, also where it keeps the descriptor on which bubblewrap reports", async () => {
    const victim = spawn("sleep", ["60"]);
    onTestFinished(() => void victim.kill("SIGKILL"));
    const script = `
      { echo '{'; echo '{"child-pid": '"$1"', "pid-namespace": 1}'; } >&5 && echo reported
      read -r end
    `;
    // A redirection of the function is undone when it ends, as that of \`exec\` alone is not.
    const env = { "BASH_FUNC_exec%%": '() { if [ $# -gt 0 ]; then builtin exec "$@"; fi; }' };
    const args = [String(victim.pid)];
    const { service, output } = await serve(script, {}, { env, args });
    const other = await serve("echo here; read -r end");
    await expect.poll(() => [output(), other.output()]).toEqual(["reported\n", "here\n"]);
    await service.kill();
    expect(await Promise.race([other.ended, Promise.resolve("it runs on")])).toBe("it runs on");
    expect([victim.exitCode, victim.signalCode]).toEqual([null, null]);
  });

  test("what its entry names, under the same path, and writes only where it may", async () => {
    const [read, write] = [hostFolder(), hostFolder()];
    const script =
      'cat "$1/file"; echo " read"; { echo no >"$1/new"; } 2>/dev/null; cat "$2/file"; echo yes >"$2/new"';
    const output = await outputOf(
      script,
      { read: [read], write: [write] },
      { args: [read, write], cwd: write },
    );
    expect(output).toBe("from the host read\nfrom the host");
    expect(existsSync(join(read, "new"))).toBe(false);
    expect(readFileSync(join(write, "new"), "utf8")).toBe("yes\n");
  });

  test("its own home again when it is started anew, and nobody else's", async () => {
    await outputOf("echo mine >~/kept");
    expect(await outputOf("cat ~/kept; cat /workspace/kept")).toBe("mine\nmine");
    const thread = await backend.open("local:test:one:1");
    expect((await thread.listFiles()) as unknown).toMatchObject({ entries: [] });
  });
});

describe("a service reaches", () => {
  const get =
    'curl --silent --cacert /dev/null --output /dev/null --write-out "%{http_connect}\\n" https://$1/';

  test("the hosts of its entry alone, not those of threads, and it is known what else it asked for", async () => {
    const { ended, output, service } = await serve(
      `${get}; set -- other.example; ${get}`,
      { network: ["listed.example"] },
      { args: ["listed.example"] },
    );
    await ended;
    expect(output()).toBe("200\n403\n");
    expect(service.refusedHosts()).toEqual(["other.example"]);
  });

  test("nothing by itself, and it is known what it asked for", async () => {
    const { ended, service } = await serve(get, {}, { args: ["listed.example"] });
    await ended;
    expect(service.refusedHosts()).toEqual(["listed.example"]);
  });

  test("what the machine reaches where its entry says host", async () => {
    const listener = createServer((socket) => socket.end("hello\n"));
    const args = [String(await listen(listener))];
    onTestFinished(() => void listener.close());
    const script = "exec 4<>/dev/tcp/127.0.0.1/$1; cat <&4; env | grep -ci _proxy";
    expect(await outputOf(script, { network: "host" }, { args })).toBe("hello\n0");
  });
});

describe("a service is not started", () => {
  test.each([["/"], ["/proc"], ["/proc/self/root"], ["/dev"]])("with %s", async (path) => {
    expect(await refusalOf({ read: [path] })).toMatch(/^\S+ of its sandbox would show it the whole machine/);
  });

  test("with a folder that holds secrets of Heddle, or files of threads", async () => {
    const own = /would show it \S+, which is Heddle's own; name other folders/;
    expect(await refusalOf({ read: [secretFolder] })).toMatch(own);
    expect(await refusalOf({ write: [join(secretFolder, ".env")] })).toMatch(own);
    expect(await refusalOf({ read: [dataDir] })).toMatch(own);
    expect(await refusalOf({ read: [join(dataDir, "workspaces")] })).toMatch(own);
    expect(await refusalOf({ read: [join(dataDir, "..")] })).toMatch(own);
  });

  test("with a folder that does not exist, or a cwd that it would not see", async () => {
    expect(await refusalOf({ read: ["/nowhere/at/all"] })).toBe(
      "/nowhere/at/all of its sandbox does not exist",
    );
    expect(await refusalOf({}, "/srv/shop")).toMatch(
      /add "read": \["\/srv\/shop"\] to "sandbox" of its entry/,
    );
  });

  test.skipIf(process.getuid?.() !== 0)(
    "with a folder that its user may not use, and it is said who that is",
    async () => {
      const folder = hostFolder();
      chmodSync(folder, 0o755);
      expect(await refusalOf({ write: [folder] })).toMatch(
        new RegExp(
          `^Heddle runs as root and this server as user (\\d+), who cannot write ${folder}: chown -R \\1 ${folder}`,
        ),
      );
      mkdirSync(join(folder, "closed"), { mode: 0o700 });
      expect(await refusalOf({ read: [join(folder, "closed")] })).toMatch(/who cannot read/);
    },
  );

  test("where the sandbox does not work, and the reason is said", async () => {
    const broken = createBubblewrapBackend({ dataDir: join(hostFolder(), "file") });
    const started = await broken.serve({
      ...{ name: "test", command: "true", args: [], env: {}, access: nothing },
      onOutput: () => {},
    });
    expect(started).toMatchObject({
      ok: false,
      reason: "no-sandbox",
      problem: expect.stringMatching(/prepared/),
    });
  });
});

describe("a service ends", () => {
  /** A word that is on the command lines of a service's processes and of no others. */
  const newWord = () => `service-${Math.random().toString(36).slice(2)}`;

  test("with all that it has started, also what left its session, when it is killed", async () => {
    const word = newWord();
    const { service, output } = await serve(
      '(setsid bash -c "sleep 300; : $1" &) ; echo up; sleep 300',
      {},
      { args: [word] },
    );
    await expect.poll(output).toContain("up");
    expect(listProcessesNaming(word)).not.toEqual([]);
    await service.kill();
    expect(listProcessesNaming(word)).toEqual([]);
  });

  test("when it takes more memory than a command may, and says so", async () => {
    const small = open({ memoryBytes: 96 * 1_048_576, processMemoryBytes: 4096 * 1_048_576 });
    onTestFinished(() => small.close());
    const hog = "python3 -c 'x = [bytearray(1000000) for _ in range(2000)]; input()'";
    const { ended } = await serve(hog, {}, { on: small });
    expect(await ended).toEqual({ exitCode: null, problem: "it used up its memory (sandbox.memoryMb)" });
  });

  test("when the back end is closed", async () => {
    const other = open({});
    const word = newWord();
    const { ended, output } = await serve("echo up; sleep 300", {}, { on: other, args: [word] });
    await expect.poll(output).toContain("up");
    await other.close();
    await ended;
    expect(listProcessesNaming(word)).toEqual([]);
  });

  test("when the bot is killed", async () => {
    const folder = dataFolder();
    const word = newWord();
    const program = fileURLToPath(new URL("./killed-bot.ts", import.meta.url));
    const bot: ChildProcess = fork(program, [folder, "service"], { execArgv: [] });
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    expect(await once(bot, "message")).toContain("ready");
    bot.send(`echo up; sleep 300; : ${word}`);
    expect(await once(bot, "message")).toContain("started");
    expect(await once(bot, "message")).toContain("output");
    bot.kill("SIGKILL");
    await expect.poll(() => listProcessesNaming(word)).toEqual([]);
  });
});
