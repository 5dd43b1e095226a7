import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, mkdtemp, readdir, readlink, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { listDescendants } from "../../src/sandbox/thread/processes.ts";

/** The repository that programs are started from. */
const present = resolve(import.meta.dirname, "../..");

/** What a whole program does may take so long on a busy machine. */
export const patienceMs = 90_000;

/** The program as its users start it: a process with an environment, files and signals. */
export interface Program {
  readonly pid: number;
  /** What it printed so far, both streams. */
  output(): string;
  /** Resolves with the first line, also an earlier one, that matches. Rejects when the program ends without it. */
  line(pattern: RegExp): Promise<string>;
  signal(name: NodeJS.Signals): void;
  /** Closes what it prints at the reader's end, as `head` does. */
  hangUp(stream?: "stdout" | "stderr"): void;
  /** Resolves with its exit code, or the signal that ended it. */
  ended: Promise<number | string>;
}

export interface Place {
  /** The working directory: empty, so that neither `.env` nor `heddle.yaml` of the developer matter. */
  folder: string;
  /** @param version the folder of another version of this repository, or of a program that was built */
  start(args: string[], env?: Record<string, string>, version?: string): Program;
  /**
   * Starts it where a system's program is hidden, as on a host that lacks it.
   *
   * @param script another program of a repository than src/main.ts
   */
  startWithout(program: string, args: string[], env?: Record<string, string>, script?: string): Program;
  /** Starts it as on a host outside of any container that has these accounts, in the form of /etc/passwd, and no others. */
  startAmong(accounts: string, args: string[], env?: Record<string, string>): Promise<Program>;
  /** Starts it as on another host: it sees no process of this one, and numbers mean others there. Only as root. */
  startElsewhere(args: string[], env?: Record<string, string>): Program;
  /** What the programs printed, for the report of a failed test. */
  outputs(): string;
  /** Kills what still runs and removes the folder. */
  clean(): Promise<void>;
}

/**
 * Runs `heddle doctor`, which gives its checks some seconds, and again where a busy machine took longer.
 *
 * @returns the program after its end
 */
export async function examine(run: () => Program): Promise<Program> {
  for (let times = 1; ; times += 1) {
    const program = run();
    await program.ended;
    if (times === 4 || !/no result within|no answer in time/.test(program.output())) return program;
  }
}

/** A folder to run the program in. Nothing of the test's own environment reaches it but the PATH. */
export async function newPlace(): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), "heddle-e2e-"));
  // Open to walk through for the users of a root bot's sandboxes, or the workspaces would lie elsewhere.
  await chmod(folder, 0o711);
  const programs: Program[] = [];
  const add = (program: Program) => {
    programs.push(program);
    return program;
  };
  return {
    folder,
    start: (args, env = {}, version = present) =>
      add(start(folder, [process.execPath, entryOf(version), ...args], env)),
    startWithout(hidden, args, env = {}, script = join(present, "src/main.ts")) {
      const mounts = [
        "--die-with-parent",
        ...["--dev-bind", "/", "/", "--ro-bind", "/dev/null", `/usr/bin/${hidden}`],
      ];
      const outer = start(folder, ["bwrap", ...mounts, "--", process.execPath, script, ...args], env);
      // bwrap passes no signal on, and its death would leave behind what the program has started.
      const signal = (name: NodeJS.Signals) => {
        const inside = listDescendants(outer.pid).slice(0, name === "SIGKILL" ? undefined : 1);
        for (const { pid } of inside) {
          try {
            process.kill(pid, name);
          } catch {
            // It ended in between.
          }
        }
      };
      return add({ ...outer, signal });
    },
    async startAmong(accounts, args, env = {}) {
      const passwd = join(folder, "passwd");
      await writeFile(passwd, accounts);
      const mounts = [
        "--die-with-parent",
        ...(await bindRoot()),
        "--tmpfs",
        "/home",
        "--ro-bind",
        passwd,
        "/etc/passwd",
      ];
      const program = [process.execPath, join(present, "src/main.ts"), ...args];
      return add(start(folder, ["bwrap", ...mounts, "--", ...program], env));
    },
    startElsewhere(args, env = {}) {
      const apart = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--"];
      return add(start(folder, [...apart, process.execPath, join(present, "src/main.ts"), ...args], env));
    },
    outputs: () => programs.map((program) => program.output()).join("\n---\n"),
    async clean() {
      for (const program of programs) program.signal("SIGKILL");
      await Promise.all(programs.map(({ ended }) => ended));
      // A Redis that a killed program had started may still be writing.
      await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    },
  };
}

function entryOf(version: string): string {
  const source = join(version, "src/main.ts");
  return existsSync(source) ? source : join(version, "dist/heddle.js");
}

/** All of the host but what says that this is a container. */
async function bindRoot(): Promise<string[]> {
  const entries = (await readdir("/", { withFileTypes: true })).filter(({ name }) => name !== ".dockerenv");
  const mounts = entries.map(async (entry) => {
    const path = `/${entry.name}`;
    return entry.isSymbolicLink() ? ["--symlink", await readlink(path), path] : ["--dev-bind", path, path];
  });
  return (await Promise.all(mounts)).flat();
}

/** As `npm start` has it: a program that need not be compiled again is ready in half the time. */
const compiled = process.env["NODE_COMPILE_CACHE"];

function start(folder: string, [command = "", ...args]: string[], env: Record<string, string>): Program {
  const child = spawn(command, args, {
    cwd: folder,
    env: {
      // Whatever accounts the machine of the tests has.
      ...{ PATH: process.env["PATH"] ?? "", HOME: folder, HEDDLE_PORT: "0", HEDDLE_CONSOLE_OPEN: "1" },
      ...(compiled && { NODE_COMPILE_CACHE: compiled }),
      ...env,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const lines: string[] = [];
  const waiters = new Set<(line: string) => void>();
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on("line", (line) => {
      lines.push(line);
      for (const waiter of waiters) waiter(line);
    });
  }
  const ended = once(child, "close").then(([code, signal]: unknown[]) => (code ?? signal) as number | string);
  return {
    pid: child.pid ?? 0,
    output: () => lines.join("\n"),
    line: (pattern) =>
      new Promise((found, failed) => {
        const earlier = lines.find((line) => pattern.test(line));
        if (earlier !== undefined) return found(earlier);
        const check = (line: string) => {
          if (!pattern.test(line)) return;
          waiters.delete(check);
          found(line);
        };
        waiters.add(check);
        void ended.then((code) =>
          failed(new Error(`The program ended (${code}) before ${pattern}:\n${lines.join("\n")}`)),
        );
      }),
    signal: (name) => void child.kill(name),
    hangUp: (stream = "stdout") => void child[stream].destroy(),
    ended,
  };
}
