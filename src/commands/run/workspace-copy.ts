import { execFile } from "node:child_process";
import { access, constants, mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { isInProc } from "../../agent/file-problems.ts";
import type { ThreadId } from "../../chat/threads.ts";
import { hasErrorCode } from "../../sandbox/system-error.ts";
import type { Workspaces } from "../../sandbox/sandbox.ts";
import { cannotWrite, checkOutput } from "../output-file.ts";
import { UsageError } from "../usage-error.ts";

const run = promisify(execFile);

/** Where the files of a thread go in the end. */
export type CopyTarget = { kind: "archive" | "folder"; path: string };

/**
 * Before the task begins: an archive by its name, or a folder, which must be empty so that nothing in it is replaced.
 * @throws UsageError
 */
export async function prepareTarget(out: string): Promise<CopyTarget> {
  const path = resolve(out);
  if (path.endsWith(".tar")) return { kind: "archive", path: await checkOutput(path) };
  if (isInProc(path)) throw new UsageError(`--out ${out} cannot be used: nothing can be made in /proc.`);
  try {
    await mkdir(path, { recursive: true });
    await access(path, constants.W_OK);
    if ((await readdir(path)).length === 0) return { kind: "folder", path };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UsageError(`--out ${out} cannot be used: ${why}.`);
  }
  throw new UsageError(`--out ${out}: expected an empty folder, a new one, or a file that ends in .tar.`);
}

/** Writes the workspace there; false when this host has none of the thread. @throws UsageError */
export async function copyWorkspace(
  workspaces: Workspaces,
  thread: ThreadId,
  target: CopyTarget,
): Promise<boolean> {
  try {
    if (target.kind === "archive") return await workspaces.export(thread, target.path);
    return await copyToFolder(workspaces, thread, target.path);
  } catch (error) {
    throw cannotWrite(target.path, error);
  }
}

async function copyToFolder(workspaces: Workspaces, thread: ThreadId, path: string): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), "heddle-out-"));
  try {
    const archive = join(folder, "workspace.tar");
    if (!(await workspaces.export(thread, archive))) return false;
    // The agent made these files: none belongs to another user or gets special rights. tar itself writes through no link.
    await run("tar", ["-xf", archive, "--no-same-owner", "--no-same-permissions", "-C", path]);
    return true;
  } catch (error) {
    const said = error instanceof Error && "stderr" in error ? String(error.stderr).split("\n")[0] : "";
    const why = hasErrorCode(error, "ENOENT") ? "there is no program tar to unpack the files" : said;
    throw why ? new Error(why, { cause: error }) : error;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
