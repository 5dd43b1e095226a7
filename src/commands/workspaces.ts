import { resolve } from "node:path";
import { openSandboxBackend, readCleanPolicy } from "../app/sandbox.ts";
import type { Config } from "../config/load.ts";
import type { CleanReport, Workspaces } from "../sandbox/sandbox.ts";
import { createCommandContext, UsageError } from "./context.ts";

/** Lists the workspaces of this host. */
export async function printWorkspaces({ json }: { json?: true }): Promise<number> {
  return await withWorkspaces(async (workspaces) => {
    const found = await workspaces.list();
    const lines = found.map(
      ({ threadId, usedAt, folder = "archived" }) =>
        `${new Date(usedAt).toISOString()}  ${threadId}  ${folder}\n`,
    );
    const text = lines.join("") || "There are no workspaces yet.\n";
    process.stdout.write(json ? `${JSON.stringify({ workspaces: found })}\n` : text);
    return 0;
  });
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
