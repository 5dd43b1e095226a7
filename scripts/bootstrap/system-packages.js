import { findOnPath, runQuietly } from "./commands.js";
import { say, SetupFailure } from "./speak.js";

/** How each package manager installs it without questions. apt-get waits for the updates that a new system installs. */
const installers = [
  "apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=120 bubblewrap",
  "dnf install -y bubblewrap",
  "yum install -y bubblewrap",
  "zypper --non-interactive install bubblewrap",
  "pacman -Sy --noconfirm --needed bubblewrap",
  "apk add --update-cache bubblewrap",
];

/**
 * Installs bubblewrap, in which the commands of the agent run, unless it is there.
 * @throws {SetupFailure} where that would need a password
 */
export async function provideBubblewrap() {
  if (findOnPath("bwrap")) return;
  const why = "The agent's commands run in bubblewrap, which is not installed";
  const installer = installers.find((command) => findOnPath(command.slice(0, command.indexOf(" "))));
  if (!installer) throw new SetupFailure(`${why}: install your system's package bubblewrap and start again.`);

  const byHand = `run \`sudo ${installer}\` and start again`;
  const privilege = await withoutPassword();
  if (!privilege) throw new SetupFailure(`${why}: ${byHand}.`);

  say(`installing bubblewrap, the sandbox of the agent's commands (${installer})`);
  /** @param {string} command */
  const asRoot = (command) => {
    const env = ["DEBIAN_FRONTEND=noninteractive", ...command.split(" ")];
    const [sudo, ...options] = privilege;
    return sudo === undefined ? runQuietly("env", env) : runQuietly(sudo, [...options, "env", ...env]);
  };
  // A fresh system knows no packages, an old one those of yesterday. It may go wrong for sources of no interest.
  if (installer.startsWith("apt-get")) await asRoot("apt-get update");
  const failure = await asRoot(installer);
  if (findOnPath("bwrap")) return;
  const { reason, output } = failure ?? { reason: "bwrap is still not on PATH", output: "" };
  throw new SetupFailure(`${why}, and installing it failed (${reason}): ${byHand}.`, output);
}

/** What to put before a command so that root runs it; undefined when that would need a password. */
async function withoutPassword() {
  if (process.getuid?.() === 0) return [];
  const refused = await runQuietly("sudo", ["--non-interactive", "true"]);
  return refused ? undefined : ["sudo", "--non-interactive"];
}
