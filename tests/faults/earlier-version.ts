/** An earlier version of this repository, to be upgraded from. */
import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dependenciesStep } from "../../scripts/bootstrap/dependencies.js";
import { root } from "../../scripts/bootstrap/root.js";
import { SetupFailure } from "../../scripts/bootstrap/speak.js";

/**
 * Gives a folder with the version of this commit, able to run; by default that of the newest tag. It is removed when it
 * is disposed of.
 *
 * @throws {SetupFailure} where there is no such commit, or its packages cannot be installed
 */
export async function checkOut(
  ref = newestTag(),
): Promise<AsyncDisposable & { folder: string; name: string }> {
  const parent = await mkdtemp(join(tmpdir(), "heddle-upgrade-"));
  const folder = join(parent, "earlier");
  const remove = async () => {
    await rm(parent, { recursive: true, force: true });
    git("worktree", "prune");
  };
  try {
    git("worktree", "add", "--detach", folder, ref);
    await dependenciesStep(folder, process.execPath, { development: false }).install();
    return { folder, name: git("log", "-1", "--format=%h (%ci)", ref), [Symbol.asyncDispose]: remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

function newestTag(): string {
  try {
    return git("describe", "--tags", "--abbrev=0");
  } catch {
    throw new SetupFailure(
      "There is no tag to upgrade from: name a commit, as in `node scripts/try-upgrade.js HEAD~10`.",
    );
  }
}

/** @throws {SetupFailure} with git's own words */
function git(...args: readonly string[]): string {
  try {
    return execFileSync("git", args, { cwd: root, encoding: "utf8", stdio: "pipe" }).trim();
  } catch (error) {
    const said = error instanceof Error && "stderr" in error ? String(error.stderr).trim() : String(error);
    throw new SetupFailure(`git ${args.join(" ")} failed: ${said}`);
  }
}
