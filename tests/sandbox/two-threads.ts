import { createHash } from "node:crypto";
import { chmodSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createBubblewrapBackend } from "../../src/sandbox/bubblewrap/backend.ts";
import type { SandboxLimits } from "../../src/sandbox/limits.ts";
import type { Job, Sandbox, SandboxBackend } from "../../src/sandbox/sandbox.ts";

/** Two threads of one bot. */
export interface TwoThreads {
  backend: SandboxBackend;
  dataDir: string;
  sandbox: Sandbox;
  other: Sandbox;
  /** Where the workspace of `other` lies on the host. */
  otherFolder: string;
}

/** A promise of the sandbox. Run by a root bot and by an ordinary user's bot alike, so it asserts with node:assert. */
export interface Case {
  name: string;
  /** Programs that the sandbox must have for it. */
  needs?: string[];
  limits?: Partial<SandboxLimits>;
  run(threads: TwoThreads): Promise<void>;
}

/** What a bot must never show to a sandbox; the tests put it into the environment. */
export const secret = "xoxb-canary-4711";
const otherThread = "local:test:two:1";

export async function openTwoThreads(
  dataDir: string,
  limits: Partial<SandboxLimits> = {},
): Promise<TwoThreads> {
  const backend = createBubblewrapBackend({ dataDir, limits });
  const [sandbox, other] = await Promise.all([backend.open("local:test:one:1"), backend.open(otherThread)]);
  const folder = createHash("sha256").update(otherThread).digest("hex").slice(0, 32);
  return { backend, dataDir, sandbox, other, otherFolder: `${dataDir}/workspaces/${folder}` };
}

/** A data folder that the users of a root bot's sandboxes can reach. */
export function dataFolder(): string {
  const folder = closedFolder();
  chmodSync(folder, 0o711);
  return folder;
}

/** A folder that only its owner can enter, as a clone in somebody's home may be. */
export function closedFolder(): string {
  return mkdtempSync(join(tmpdir(), "heddle-sandbox-test-"));
}

/** Runs a command and returns what it wrote; both streams, trimmed. */
export async function output(sandbox: Sandbox, command: string): Promise<string> {
  const { stdout, stderr, problem } = await sandbox.exec({ command, timeoutMs: 30_000 });
  return (problem ?? `${stdout.toString()}${stderr.toString()}`).trim();
}

/** A command that runs this Python program. */
export function python(program: string): string {
  return `/usr/bin/python3 - <<'END_OF_PROGRAM'\n${program}\nEND_OF_PROGRAM`;
}

/** A program of Python that does this in its second thread and ends its first. */
export function withoutFirstThread(body: string): string {
  return `
import ctypes, os, platform, threading, time
def work():
    # Until the first one has ended.
    while open("/proc/self/stat").read().split()[2] != "Z": time.sleep(0.01)
    ${body}
threading.Thread(target=work).start()
exit_thread = 60 if platform.machine() == "x86_64" else 93
ctypes.CDLL(None).syscall(exit_thread, 0)`;
}

/** What a job has written, once it has written anything or ended. */
export async function firstOutput(job: Job): Promise<string> {
  for (;;) {
    const { state } = job.status();
    const { data } = await job.read(0, 10_000);
    if (data.length > 0 || state === "ended") return data.toString();
    await new Promise(setImmediate);
  }
}

/** A number of seconds to sleep that no other test sleeps, to tell processes apart by. */
export function uniqueSeconds(): string {
  return `30${Math.floor(Math.random() * 1e9)}`;
}
