import { resolve } from "node:path";
import { openSandboxBackend, readCleanPolicy } from "../app/sandbox.ts";
import type { CleanReport, Workspaces } from "../sandbox/sandbox.ts";
import { createCommandContext, UsageError } from "./context.ts";

const usage = "Usage: heddle workspaces list | export <thread> [file.tar] | clean";

/** Lists the workspaces of this host, writes one as a tar archive, or archives those that are idle. */
export async function command(args: string[]): Promise<number> {
  const order = parse(args);

  const { config, log } = await createCommandContext("warn");
  const backend = openSandboxBackend(config, { log: (line) => log.info(line) });
  try {
    const probe = await backend.probe();
    if (!probe.ok) throw new UsageError(probe.problems.map(({ what, fix }) => `${what} ${fix}`).join(" "));
    const workspaces = await backend.workspaces();
    switch (order.verb) {
      case "list":
        process.stdout.write(await list(workspaces));
        return 0;
      case "export":
        process.stdout.write(`${await exportTo(workspaces, order)}\n`);
        return 0;
      case "clean": {
        const report = await workspaces.clean(readCleanPolicy(config));
        if (!report) throw new UsageError("A worker is cleaning up right now: wait until it is done.");
        process.stdout.write(describeCleaning(report));
        return report.failed.length > 0 ? 1 : 0;
      }
    }
  } finally {
    await backend.close();
  }
}

type Order = { verb: "list" | "clean" } | { verb: "export"; thread: string; file: string | undefined };

function parse([verb, thread, file, ...rest]: string[]): Order {
  if (verb === "export" && thread !== undefined && rest.length === 0) return { verb, thread, file };
  if ((verb === "list" || verb === "clean") && thread === undefined) return { verb };
  throw new UsageError(usage);
}

/** Returns where the archive is. */
async function exportTo(
  workspaces: Workspaces,
  { thread, file }: Extract<Order, { verb: "export" }>,
): Promise<string> {
  const target = resolve(file ?? `${thread.replaceAll(/[^A-Za-z0-9._-]/g, "-")}.tar`);
  if (await workspaces.export(thread, target)) return target;
  throw new UsageError(`There is no workspace of ${thread}; see heddle workspaces list.`);
}

function describeCleaning({ archived, forgotten, failed }: CleanReport): string {
  const lines = [
    ...archived.map((id) => `archived    ${id}`),
    ...forgotten.map((id) => `removed     ${id} (its archive was too old)`),
    ...failed.map((id) => `left alone  ${id} (it could not be archived; see the log)`),
  ];
  return lines.length > 0 ? `${lines.join("\n")}\n` : "Nothing was idle long enough.\n";
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
