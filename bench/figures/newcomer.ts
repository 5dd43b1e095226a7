import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { HeddleClient } from "../../src/client/index.ts";
import { type Effort, type Figure, type Findings, goal, quantity } from "../figure.ts";

const repository = resolve(import.meta.dirname, "../..");
const token = "a-token-of-the-console";
const mebibyte = 1024 * 1024;

/** How long somebody who has nothing yet waits for a first answer. */
export const newcomer: Figure = {
  id: "newcomer",
  title: "From an empty folder to the first answer",
  method:
    "`git clone` of this repository into an empty folder, `npm start` there, and the task “Write a calculator” of the demo model as soon as Heddle is ready; each time from the beginning. First with an empty npm cache, so that the time depends on the connection to the registry, then with the cache that this has filled. Node, bubblewrap and Redis are there already. Downloaded is what the cache holds afterwards, on the disk what the clone takes without its history.",
  measure,
};

interface Run {
  cloned: number;
  ready: number;
  answered: number;
  /** Of the clone, without its history, in bytes of the disk. */
  onDisk: number;
}

async function measure(effort: Effort): Promise<Findings> {
  const folder = await mkdtemp(join(tmpdir(), "heddle-newcomer-"));
  // So that sandbox users can reach the workspaces and everything is removed with the folder.
  await chmod(folder, 0o711);
  try {
    // A quick run spares the registry.
    const cache = effort.quick ? undefined : join(folder, "cache");
    const first = await begin(join(folder, "first"), cache);
    const downloaded = cache === undefined ? undefined : await sizeOf(cache, "files");
    const runs: [string, Run, string][] = [
      [
        cache === undefined ? "with this machine's npm cache" : "with an empty npm cache",
        first,
        downloaded === undefined ? "–" : megabytes(downloaded),
      ],
    ];
    if (cache !== undefined)
      runs.push(["with the cache filled", await begin(join(folder, "again"), cache), "–"]);
    return {
      table: {
        columns: ["", "cloned", "ready", "first answer", "downloaded", "on the disk"],
        rows: runs.map(([name, { cloned, ready, answered, onDisk }, loaded]) => [
          ...[name, seconds(cloned), seconds(ready), seconds(answered), loaded, megabytes(onDisk)],
        ]),
      },
      goals:
        downloaded === undefined
          ? []
          : [goal("what a first npm start downloads", downloaded / mebibyte, "MB", { below: 250 })],
    };
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
}

const seconds = (ms: number) => quantity(ms / 1_000, "s");
const megabytes = (bytes: number) => quantity(bytes / mebibyte, "MB");

/** Does what the README says, from nothing. @param cache npm's; absent: that of this machine */
async function begin(clone: string, cache: string | undefined): Promise<Run> {
  const startedAt = performance.now();
  const elapsed = () => performance.now() - startedAt;
  await promisify(execFile)("git", ["clone", "--quiet", `file://${repository}`, clone]);
  const cloned = elapsed();
  // How this machine reaches the registry, and nothing else that somebody has set for Heddle.
  const own = Object.entries(process.env).filter(([name]) =>
    /^(PATH|HOME|npm_config_\w+|\w+_proxy|NODE_EXTRA_CA_CERTS)$/i.test(name),
  );
  const child = spawn("npm", ["start"], {
    cwd: clone,
    env: {
      ...Object.fromEntries(own),
      ...{ HEDDLE_PORT: "0", HEDDLE_CONSOLE_TOKEN: token, HEDDLE_MODEL: "demo" },
      ...(cache !== undefined && { npm_config_cache: cache }),
    },
    stdio: ["ignore", "pipe", "pipe"],
    // A group of its own, so that nothing of it stays behind.
    detached: true,
  });
  const closed = once(child, "close");
  try {
    const url = await findConsole(child);
    const ready = elapsed();
    await waitForAnswer(url);
    return { cloned, ready, answered: elapsed(), onDisk: await sizeOf(clone, "disk") };
  } finally {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, "SIGTERM");
    await closed;
  }
}

/** The address of the console, from the greeting. */
async function findConsole({ stdout, stderr }: ReturnType<typeof spawn>): Promise<string> {
  if (!stdout || !stderr) throw new Error("The output of npm start is not piped.");
  const said: string[] = [];
  stderr.setEncoding("utf8").on("data", (text: string) => said.push(text));
  for await (const line of createInterface({ input: stdout })) {
    const [, url] = /^ {2}console +(http\S+)/.exec(line) ?? [];
    if (url === undefined) continue;
    stdout.resume();
    return url;
  }
  throw new Error(`npm start ended before it was ready: ${said.join("").trim().split("\n").at(-1)}`);
}

async function waitForAnswer(url: string): Promise<void> {
  const heddle = new HeddleClient({ url, token });
  const { id } = await heddle.start("Write a calculator in Python with a README");
  for await (const event of heddle.follow(id))
    if (event.event === "entries" && event.entries.some(({ ended }) => ended === "answered")) return;
  throw new Error("The first task was not answered.");
}

/** Of all files below a folder, without git's history: their lengths, or what they take on the disk. */
async function sizeOf(folder: string, measured: "files" | "disk"): Promise<number> {
  let bytes = 0;
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) bytes += entry.name === ".git" ? 0 : await sizeOf(path, measured);
    else if (entry.isFile()) {
      const { size, blocks } = await stat(path);
      bytes += measured === "files" ? size : blocks * 512;
    }
  }
  return bytes;
}
