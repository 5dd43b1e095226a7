import { randomBytes } from "node:crypto";
import { chownSync, mkdirSync } from "node:fs";
import { open, rm } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type Claim, type Exposure, type Job, type Sandbox, workspaceRoot } from "../sandbox.ts";
import { type Host, makeFolder, type ThreadFolder } from "./host.ts";
import { formatPath, resolveInside } from "./inside-path.ts";
import type { JobTable } from "./job-table.ts";
import { collectOutput } from "./output.ts";
import type { ProgramRunner } from "./program-runner.ts";
import { serveFolder } from "./serve-folder.ts";
import { type Program, shellCommand } from "./shell.ts";
import type { Ending } from "./spawner.ts";

/** Where the program that serves finds the folder for its socket; no command of the thread has it. */
const folderInside = "/exposed";
const socketName = "socket";
/** Connections at once. */
const mostConnections = 64;
/** How long the program may take to begin, ms. */
const startMs = 15_000;
const lookBytes = 1_024;

/** Which address of the loopback answers on a port. Argument: the port. */
const findListener = `
(: <>"/dev/tcp/127.0.0.1/$1") 2>/dev/null && { echo TCP4:127.0.0.1; exit; }
(: <>"/dev/tcp/::1/$1") 2>/dev/null && echo TCP6:[::1]
`;
/** Says whether it is a folder that can be read. Argument: its path. */
const findFolder = '[ -d "$1" ] && [ -r "$1" ] && echo yes';

/** What to run in the thread's sandbox, and how it is called among the thread's jobs. */
export interface ExposingProgram {
  title: string;
  program: Program;
}

export interface ExposingOptions {
  host: Host;
  folder: ThreadFolder;
  programs: ProgramRunner;
  jobs: JobTable;
  claim: Claim | undefined;
  /** Opens the network that the thread's commands share. Gives an ending when the thread was stopped meanwhile. */
  openNetwork(): Promise<Ending | undefined> | undefined;
  /** Starts a job that sees this too. */
  start(program: ExposingProgram, view: string[]): Job;
}

/** See {@link Sandbox.expose}. */
export function createExposing(options: ExposingOptions): Sandbox["expose"] {
  const { host, folder, programs, jobs, openNetwork, start } = options;
  return async (what, signal) => {
    const obstacle = jobs.findObstacle() ?? ((await openNetwork()) && stopped);
    if (obstacle !== undefined) return { ok: false, message: obstacle };
    if (!programs.hasNetwork()) return { ok: false, message: noNetwork };
    const before = programs.kills();
    const found = await findProgram(options, what, signal);
    if (typeof found === "string") return { ok: false, message: found };
    const late = programs.kills() === before ? jobs.findObstacle() : stopped;
    if (late !== undefined) return { ok: false, message: late };
    return openExposure(host, folder, (view) => start(found, view));
  };
}

const stopped = "The thread was stopped.";
const noNetwork = "Nothing can be shared: commands have no network of their own here.";

/** What serves it, once it is sure that there is something to serve; else a sentence. */
async function findProgram(
  options: Pick<ExposingOptions, "programs" | "claim">,
  what: Exposure,
  signal: AbortSignal | undefined,
): Promise<ExposingProgram | string> {
  if ("port" in what) {
    const listener = await look(options, [findListener, String(what.port)], signal);
    if (listener !== "") return relayPort(what.port, listener);
    return `Nothing answers on port ${what.port} of this thread's loopback. Start the server as a background command, have it listen on 127.0.0.1 or 0.0.0.0, and share the port once it answers.`;
  }
  const resolved = resolveInside(what.folder, "read");
  if (!resolved.ok) return resolved.message;
  if ((await look(options, [findFolder, resolved.path], signal)) !== "yes")
    return `There is no folder ${JSON.stringify(what.folder.slice(0, 200))} that can be read.`;
  return relayFolder(resolved.path, formatPath(resolved.path));
}

/** What a short script prints. */
async function look(
  { programs, claim }: Pick<ExposingOptions, "programs" | "claim">,
  [script, argument]: [string, string],
  signal: AbortSignal | undefined,
): Promise<string> {
  const output = collectOutput(lookBytes);
  const { ended } = programs.start(
    {
      program: shellCommand(script, [argument]),
      cwd: workspaceRoot,
      timeoutMs: startMs,
      floodBytes: lookBytes,
      signal,
      onOutput: output.take,
    },
    { kind: "files", claim, text: "" },
  );
  return (await ended).end === "exit" ? output.result().stdout.toString().trim() : "";
}

function relayPort(port: number, listener: string): ExposingProgram {
  const socket = `UNIX-LISTEN:${folderInside}/${socketName},fork,max-children=${mostConnections}`;
  return {
    title: `share port ${port}`,
    program: shellCommand('exec socat "$1" "$2" 2>/dev/null', [socket, `${listener}:${port}`]),
  };
}

function relayFolder(path: string, shown: string): ExposingProgram {
  const paths = JSON.stringify([path, `${folderInside}/${socketName}`]);
  // Types are stripped when this process loads the function, so its source is JavaScript.
  const source = `(${serveFolder.toString()})(...${paths})`;
  return { title: `share folder ${shown}`, program: ["node", "--input-type=module", "--eval", source] };
}

/**
 * Starts the program as a job that sees a folder for its socket, and waits until it takes connections.
 *
 * @param start starts the job with these bwrap arguments
 */
async function openExposure(
  { root }: Pick<Host, "root">,
  { owner }: ThreadFolder,
  start: (view: string[]) => Job,
): ReturnType<Sandbox["expose"]> {
  const parent = join(root, "exposed");
  makeFolder(parent, 0o711);
  const folder = join(parent, randomBytes(8).toString("hex"));
  mkdirSync(folder, { mode: 0o700 });
  if (owner) chownSync(folder, owner.uid, owner.gid);
  // A socket's path has at most 107 bytes, and the data folder's may be longer: so by way of a descriptor.
  const directory = await open(folder);
  const job = start(["--bind", folder, folderInside]);
  let path = `/proc/self/fd/${directory.fd}/${socketName}`;
  const ended = job.wait().then(async () => {
    // The number of a closed descriptor becomes another's, perhaps another thread's.
    path = nowhere;
    await directory.close();
    await rm(folder, { recursive: true, force: true });
  });
  if (!(await waitUntilConnectable(path, job))) {
    await job.kill();
    await ended;
    const said = (await job.read(0, 300)).data.toString().trim();
    return { ok: false, message: `It could not be shared${said ? `: ${said}` : "; try again"}.` };
  }
  return { ok: true, exposed: { job, connect: () => connect({ path }) } };
}

/** Connecting to it fails. */
const nowhere = "/dev/null/nowhere";

/** Its socket is there a moment before connections to it are taken. */
async function waitUntilConnectable(path: string, job: Job): Promise<boolean> {
  const deadline = performance.now() + startMs;
  while (job.status().state === "running" && performance.now() < deadline) {
    if (await isConnectable(path)) return true;
    await delay(20);
  }
  return false;
}

function isConnectable(path: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const probe = connect({ path });
  probe.once("connect", () => resolve(true)).once("error", () => resolve(false));
  return promise.finally(() => probe.destroy());
}
