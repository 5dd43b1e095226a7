import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { openSandboxBackend, readCleanPolicy } from "../app/sandbox.ts";
import type { Config } from "../config/load.ts";
import type { CleanReport, Workspaces } from "../sandbox/sandbox.ts";
import { createCommandContext, UsageError } from "./context.ts";
import { cannotWrite, checkOutput } from "./output-file.ts";
import { printResult } from "./print-result.ts";

/** Lists the workspaces of this host. */
export async function printWorkspaces({ json }: { json?: true }): Promise<number> {
  return await withWorkspaces(async (workspaces) => {
    const listed = await workspaces.list();
    const sizes = await measureFolders(listed.flatMap(({ folder }) => folder ?? []));
    const found = listed.map((info) => {
      const bytes = info.folder === undefined ? undefined : sizes.get(info.folder);
      return { ...info, ...(bytes !== undefined && { bytes }) };
    });
    const lines = found.map(({ threadId, usedAt, folder = "archived", bytes }) => {
      const measured = bytes === undefined ? "not measured" : `${(bytes / 1_048_576).toFixed(1)}M`;
      const size = folder === "archived" ? "" : measured;
      return `${new Date(usedAt).toISOString()}  ${size.padStart(12)}  ${threadId}  ${folder}`;
    });
    printResult(json, { workspaces: found }, lines.join("\n") || "There are no workspaces yet.");
    return 0;
  });
}

/** For all of them together: on a disk that does not answer, or is full of files, a list without sizes is worth more, ms. */
const measureMs = 15_000;
/** So many are measured at once, each by a process of its own: one that takes long costs the size of itself alone. */
const atOnce = 4;

/**
 * Bytes that folders take on the disk, of those that could be measured in time. A folder of which something cannot be read
 * counts with the rest of it.
 */
async function measureFolders(folders: readonly string[]): Promise<Map<string, number>> {
  const sizes = new Map<string, number>();
  const signal = AbortSignal.timeout(measureMs);
  const left = folders.values();
  const measure = async () => {
    for (const folder of left) {
      if (signal.aborted) return;
      const bytes = await measureFolder(folder, signal);
      if (bytes !== undefined) sizes.set(folder, bytes);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, measure));
  return sizes;
}

/** Undefined where the time is over. */
async function measureFolder(folder: string, signal: AbortSignal): Promise<number | undefined> {
  const call = promisify(execFile)("du", ["-sk", "--", folder], { signal, killSignal: "SIGKILL" });
  // It has an exit code for what it could not read, and prints the rest all the same.
  const { stdout } = await call.catch((error: { stdout?: string }) => ({ stdout: error.stdout ?? "" }));
  // What waits for a disk cannot be killed, and this process shall end without it.
  if (signal.aborted) call.child.unref();
  const [, kibibytes] = /^(\d+)\t/.exec(stdout) ?? [];
  return kibibytes === undefined ? undefined : Number(kibibytes) * 1_024;
}

/** Writes a workspace as a tar archive. */
export async function exportWorkspace(
  thread: string,
  file: string | undefined,
  { json }: { json?: true },
): Promise<number> {
  return await withWorkspaces(async (workspaces) => {
    const target = await checkOutput(file ?? `${thread.replaceAll(/[^A-Za-z0-9._-]/g, "-")}.tar`);
    const isThere = await workspaces.export(thread, target).catch((error: unknown) => {
      throw cannotWrite(target, error);
    });
    if (!isThere) throw new UsageError(`There is no workspace of ${thread}; see heddle workspaces list.`);
    printResult(json, { thread, file: target }, target);
    return 0;
  });
}

/** Archives the workspaces that are idle. */
export async function cleanWorkspaces({ json }: { json?: true }): Promise<number> {
  return await withWorkspaces(async (workspaces, config) => {
    const report = await workspaces.clean(readCleanPolicy(config));
    if (!report) throw new UsageError("A worker is cleaning up right now: wait until it is done.");
    printResult(json, report, describeCleaning(report));
    return report.failed.length > 0 ? 1 : 0;
  });
}

async function withWorkspaces(
  work: (workspaces: Workspaces, config: Config) => Promise<number>,
): Promise<number> {
  const { config, log } = await createCommandContext("warn");
  const backend = openSandboxBackend(config, { log: (line) => log.info(line) });
  try {
    const probe = await backend.probe();
    if (!probe.ok) throw new UsageError(probe.problems.map(({ what, fix }) => `${what} ${fix}`).join(" "));
    return await work(await backend.workspaces(), config);
  } finally {
    await backend.close();
  }
}

function describeCleaning({ archived, forgotten, failed }: CleanReport): string {
  const lines = [
    ...archived.map((id) => `archived    ${id}`),
    ...forgotten.map((id) => `removed     ${id} (its archive was too old)`),
    ...failed.map((id) => `left alone  ${id} (it could not be archived; see the log)`),
  ];
  return lines.join("\n") || "Nothing was idle long enough.";
}
