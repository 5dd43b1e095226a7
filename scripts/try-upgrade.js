// `node scripts/try-upgrade.js [REF]`: replaces the version of that commit (by default the newest tag) by the present
// one while it works, in all orders, against stand-ins for Slack and the model. Two minutes, and redis-server.
import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dependenciesStep } from "./bootstrap/dependencies.js";
import { launch } from "./bootstrap/launch.js";
import { root } from "./bootstrap/root.js";
import { reporting, SetupFailure } from "./bootstrap/speak.js";

const git = (...args) => execFileSync("git", args, { cwd: root, encoding: "utf8", stdio: "pipe" }).trim();

await reporting(async () => {
  const ref = process.argv[2] ?? newestTag();
  const folder = await mkdtemp(join(tmpdir(), "heddle-upgrade-"));
  const earlier = join(folder, "earlier");
  try {
    try {
      git("worktree", "add", "--detach", earlier, ref);
    } catch (error) {
      throw new SetupFailure(`${ref} cannot be checked out: ${String(error.stderr ?? error).trim()}`);
    }
    await dependenciesStep(earlier, process.execPath, { development: false }).install();
    console.log(`From ${git("log", "-1", "--format=%h (%ci)", ref)} to what is here:`);
    await launch(["tests/faults/upgrade.ts", earlier], { development: true, sandbox: true });
  } finally {
    await rm(folder, { recursive: true, force: true });
    git("worktree", "prune");
  }
});

function newestTag() {
  try {
    return git("describe", "--tags", "--abbrev=0");
  } catch {
    throw new SetupFailure(
      "There is no tag to upgrade from: name a commit, as in `node scripts/try-upgrade.js HEAD~10`.",
    );
  }
}
