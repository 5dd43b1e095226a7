import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { openSandboxBackend, readCleanPolicy } from "../app/sandbox.ts";
import type { Config } from "../config/load.ts";
import type { CleanReport, Workspaces } from "../sandbox/sandbox.ts";
import { createCommandContext, UsageError } from "./context.ts";

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
      const size = bytes === undefined ? "" : `${(bytes / 1_048_576).toFixed(1)}M`;
      return `${new Date(usedAt).toISOString()}  ${size.padStart(9)}  ${threadId}  ${folder}\n`;
    });
    const text = lines.join("") || "There are no workspaces yet.\n";
    process.stdout.write(json ? `${JSON.stringify({ workspaces: found })}\n` : text);
    return 0;
  });
}

/** So many folders are named in one call. */
const atOnce = 200;

/** Bytes that folders take on the disk. A folder of which something cannot be read counts with the rest of it. */
async function measureFolders(folders: readonly string[]): Promise<Map<string, number>> {
  const sizes = new Map<string, number>();
  for (let from = 0; from < folders.length; from += atOnce) {
    const call = promisify(execFile)("du", ["-sk", "--", ...folders.slice(from, from + atOnce)], {
      maxBuffer: 1_000_000,
    });
    // It has an exit code for what it could not read, and prints the rest all the same.
    const { stdout } = await call.catch((error: { stdout?: string }) => ({ stdout: error.stdout ?? "" }));
    for (const [, kibibytes, folder = ""] of stdout.matchAll(/^(\d+)\t(.*)$/gm))
      sizes.set(folder, Number(kibibytes) * 1_024);
  }
  return sizes;
}

/** Writes a workspace as a tar archive. */
export async function exportWorkspace(
  thread: string,
  file: string | undefined,
  { json }: { json?: true },
): Promise<number> {
  return await withWorkspaces(async (workspaces) => {
    const target = resolve(file ?? `${thread.replaceAll(/[^A-Za-z0-9._-]/g, "-")}.tar`);
    if (!(await workspaces.export(thread, target)))
      throw new UsageError(`There is no workspace of ${thread}; see heddle workspaces list.`);
    process.stdout.write(json ? `${JSON.stringify({ thread, file: target })}\n` : `${target}\n`);
    return 0;
  });
}

/** Archives the workspaces that are idle. */
export async function cleanWorkspaces({ json }: { json?: true }): Promise<number> {
  return await withWorkspaces(async (workspaces, config) => {
    const report = await workspaces.clean(readCleanPolicy(config));
    if (!report) throw new UsageError("A worker is cleaning up right now: wait until it is done.");
    process.stdout.write(json ? `${JSON.stringify(report)}\n` : describeCleaning(report));
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
  return lines.length > 0 ? `${lines.join("\n")}\n` : "Nothing was idle long enough.\n";
}
