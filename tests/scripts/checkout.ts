/** A checkout in a temporary folder, to start with `npm start` for the first time; only npm and the system's tools are stand-ins. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const repository = join(import.meta.dirname, "../..");

/** Writes what it was asked for into `npm.log`, waits for the file in NPM_WAITS, and installs by writing npm's record of what is installed. */
const npmProgram = `
import { appendFileSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
const [command, ...args] = process.argv.slice(2);
appendFileSync("npm.log", [command, ...args].join(" ") + "\\n");
if (process.env.NPM_FAILS) {
  console.error("npm error code ENOTFOUND");
  process.exit(3);
}
while (process.env.NPM_WAITS && !existsSync(process.env.NPM_WAITS)) await new Promise((resolve) => setTimeout(resolve, 10));
if (!args.includes("--prefix")) {
  const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8"));
  if (!args.includes("--include=dev") && (process.env.NODE_ENV === "production" || args.includes("--omit=dev"))) {
    for (const name in packages) if (packages[name].dev) delete packages[name];
  }
  mkdirSync("node_modules", { recursive: true });
  writeFileSync("node_modules/.package-lock.json", JSON.stringify({ packages }));
} else {
  const [name, version] = args.find((arg) => arg.includes("@")).split("@");
  const folder = args[args.indexOf("--prefix") + 1] + "/node_modules";
  mkdirSync(folder + "/" + name + "/bin", { recursive: true });
  mkdirSync(folder + "/" + name + "/include/node", { recursive: true });
  symlinkSync(process.execPath, folder + "/" + name + "/bin/node");
  const packages = { ["node_modules/" + name]: { version } };
  writeFileSync(folder + "/.package-lock.json", JSON.stringify({ packages }));
}`;

/** In place of the program: says how it was started, and ends as its arguments say. */
const mainProgram = `
const [, how]: string[] = process.argv.slice(2);
process.on("SIGTERM", () => process.exit(15));
process.on("SIGINT", () => process.exit(2));
console.log(
  JSON.stringify({
    args: process.argv.slice(2),
    cwd: process.cwd(),
    path: process.env["PATH"],
    parent: process.ppid,
  }),
);
if (how === "fail") process.exit(7);
else if (how === "abort") process.kill(process.pid, "SIGKILL");
else if (how === "wait") setInterval(() => undefined, 1_000);`;

export interface Run {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface Checkout {
  folder: string;
  /** The only folder on PATH, and the only one in which bubblewrap is looked for. */
  bin: string;
  /** The program that stands in for npm. */
  npm: string;
  /** Puts an executable on PATH. */
  command(name: string, script: string): Promise<void>;
  writeLockfile(packages: Record<string, object>): Promise<void>;
  /** What npm was asked for, one line each. */
  npmLog(): Promise<string[]>;
  /** Starts one of `scripts/`, with code that runs before it. `onOutput` hears its standard output, `onWords` its errors. */
  run(script: string, options?: RunOptions): Promise<Run>;
  remove(): Promise<void>;
}

interface RunOptions {
  args?: string[];
  env?: Record<string, string>;
  preload?: string;
  onOutput?(send: (signal: NodeJS.Signals) => void): void;
  onWords?(words: string): void;
}

export async function createCheckout(): Promise<Checkout> {
  const temporary = await mkdtemp(join(tmpdir(), "heddle-checkout-"));
  const folder = join(temporary, "a folder");
  const bin = join(temporary, "bin");
  await cp(join(repository, "scripts"), join(folder, "scripts"), { recursive: true });
  const sandboxPath = `export const sandboxPath = ${JSON.stringify([bin])};\n`;
  await writeFile(join(folder, "scripts/bootstrap/sandbox-path.js"), sandboxPath);
  await mkdir(join(folder, "src"));
  await mkdir(bin);
  await writeFile(join(folder, "package.json"), '{"type":"module"}');
  await writeFile(join(folder, "src/main.ts"), mainProgram);
  await writeFile(join(temporary, "package.json"), '{"type":"module"}');
  const npm = join(temporary, "npm-cli.js");
  await writeFile(npm, npmProgram);

  const checkout: Checkout = {
    folder,
    bin,
    npm,
    async command(name, script) {
      await writeFile(join(bin, name), `#!/bin/sh\n${script}\n`);
      await chmod(join(bin, name), 0o755);
    },
    writeLockfile: (packages) => writeFile(join(folder, "package-lock.json"), JSON.stringify({ packages })),
    async npmLog() {
      const text = await readFile(join(folder, "npm.log"), "utf8").catch(() => "");
      return text.split("\n").filter(Boolean);
    },
    async run(script, { args = [], env = {}, preload, onOutput, onWords } = {}) {
      const before =
        preload === undefined ? [] : ["--import", `data:text/javascript,${encodeURIComponent(preload)}`];
      const child = spawn(process.execPath, [...before, join(folder, "scripts", script), ...args], {
        cwd: temporary,
        env: { PATH: bin, npm_execpath: npm, ...env },
        stdio: ["ignore", "pipe", "pipe"],
      });
      let stdout = "";
      let stderr = "";
      child.stdout.once("data", () => onOutput?.((signal) => void child.kill(signal)));
      child.stdout.on("data", (chunk) => (stdout += String(chunk)));
      child.stderr.on("data", (chunk) => {
        stderr += String(chunk);
        onWords?.(stderr);
      });
      await once(child, "close");
      return { code: child.exitCode, signal: child.signalCode, stdout, stderr };
    },
    remove: () => rm(temporary, { recursive: true, force: true }),
  };
  await checkout.writeLockfile({ "": {}, "node_modules/a": { version: "1.0.0", integrity: "sha512-a" } });
  await checkout.command("bwrap", "exit 0");
  await checkout.command("redis-server", "exit 0");
  return checkout;
}
