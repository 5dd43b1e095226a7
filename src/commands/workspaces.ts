import { resolve } from "node:path";
import { openSandboxBackend, readCleanPolicy } from "../app/sandbox.ts";
import type { Workspaces } from "../sandbox/sandbox.ts";
import { createCommandContext, UsageError } from "./context.ts";

const usage =
  "Write heddle workspaces list, heddle workspaces export <thread> [file.tar], or heddle workspaces clean.";

/** Lists the workspaces of this host, writes one as a tar archive, or archives those that are idle. */
export async function command(args: string[]): Promise<number> {
  const [verb, thread, file, ...rest] = args;
  const alone = thread === undefined && rest.length === 0;
  const exports = verb === "export" && thread !== undefined && rest.length === 0;
  if (!exports && !((verb === "list" || verb === "clean") && alone)) throw new UsageError(usage);

  const { config, log } = await createCommandContext("warn");
  const backend = openSandboxBackend(config, { log: (line) => log.info(line) });
  try {
    const probe = await backend.probe();
    if (!probe.ok) throw new UsageError(probe.problems.map(({ what, fix }) => `${what} ${fix}`).join(" "));
    const workspaces = await backend.workspaces();
    if (exports) {
      const target = resolve(file ?? `${thread.replaceAll(/[^A-Za-z0-9._-]/g, "-")}.tar`);
      if (!(await workspaces.export(thread, target))) {
        throw new UsageError(`There is no workspace of ${thread}; see heddle workspaces list.`);
      }
      process.stdout.write(`${target}\n`);
      return 0;
    }
    if (verb === "list") {
      process.stdout.write(await list(workspaces));
      return 0;
    }
    const report = await workspaces.clean(readCleanPolicy(config));
    if (!report) throw new UsageError("A worker is cleaning up at this moment: wait until it is done.");
    const { archived, forgotten, failed } = report;
    const lines = [
      ...archived.map((id) => `archived    ${id}`),
      ...forgotten.map((id) => `removed     ${id} (its archive was too old)`),
      ...failed.map((id) => `left alone  ${id} (it could not be archived; see the log)`),
    ];
    process.stdout.write(lines.length > 0 ? `${lines.join("\n")}\n` : "Nothing was idle long enough.\n");
    return failed.length > 0 ? 1 : 0;
  } finally {
    await backend.close();
  }
}

async function list(workspaces: Workspaces): Promise<string> {
  const found = await workspaces.list();
  if (found.length === 0) return "There are no workspaces yet.\n";
  return found
    .map(
      ({ threadId, usedAt, folder = "archived" }) =>
        `${new Date(usedAt).toISOString()}  ${threadId}  ${folder}\n`,
    )
    .join("");
}
