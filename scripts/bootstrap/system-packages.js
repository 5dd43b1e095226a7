import { mkdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { delimiter, join } from "node:path";
import { findIn, findOnPath, runQuietly } from "./commands.js";
import { root } from "./root.js";
import { sandboxPath } from "./sandbox-path.js";
import { say } from "./speak.js";

/**
 * How each package manager installs packages without questions, and by which names it may know the server: the first
 * one that it knows is taken. apt-get waits for the updates that a new system installs. Its packages redis-server and
 * valkey-server start a service on port 6379 at once, the others do not; redis-tools holds the same program without it.
 */
const managers = [
  {
    install: "apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=120",
    servers: ["redis-tools", "valkey-tools"],
  },
  { install: "dnf install -y", servers: ["valkey", "redis"] },
  { install: "yum install -y", servers: ["valkey", "redis"] },
  { install: "zypper --non-interactive install", servers: ["valkey", "redis"] },
  { install: "pacman -Sy --noconfirm --needed", servers: ["valkey", "redis"] },
  { install: "apk add --update-cache", servers: ["valkey", "redis"] },
];

/** As src/queue/redis/local/system.ts looks for it. */
const serverPrograms = ["valkey-server", "redis-server", "valkey-check-rdb", "redis-check-rdb"];

const purposes = {
  bubblewrap: "bubblewrap, the sandbox of the agent's commands",
  server: "Redis or Valkey, which keeps what must survive",
};

/** As src/sandbox/bubblewrap/inspect-host.ts looks for it. */
const hasSandbox = () => findIn(sandboxPath, "bwrap") !== undefined;

/** Whether the operator forbids to install anything. */
export const installingIsForbidden = () => settingOf("HEDDLE_NO_INSTALL") === "1";

/**
 * Installs with the system's package manager what is missing: bubblewrap, in which the commands of the agent run, and a
 * server, unless REDIS_URL names one. Nothing of it keeps Heddle from starting: without a server the embedded one
 * serves, without bubblewrap the agent has no shell and no files, and what to do about that is said.
 */
export async function provideSystemPackages() {
  const wantsSandbox = !hasSandbox();
  const wantsServer = !settingOf("REDIS_URL") && !serverPrograms.some(findOnPath);
  if (!wantsSandbox && !(wantsServer && !installingIsForbidden())) return;

  const manager = managers.find(({ install }) => findOnPath(install.slice(0, install.indexOf(" "))));
  if (!manager) {
    if (wantsSandbox) sayWithoutSandbox("", "install your system's package bubblewrap");
    return;
  }
  const byHand = `run \`sudo ${manager.install} bubblewrap\``;
  const privilege = installingIsForbidden() ? undefined : await withoutPassword();
  if (!privilege) {
    const why = installingIsForbidden() ? ", and HEDDLE_NO_INSTALL=1 forbids installing it" : "";
    if (wantsSandbox) sayWithoutSandbox(why, byHand);
    return;
  }

  const failure = await installFirst(
    // The last try leaves the server out: its failure must not keep bubblewrap from being installed.
    [...(wantsServer ? manager.servers : []), ...(wantsSandbox ? [undefined] : [])].map((server) => ({
      packages: [...(wantsSandbox ? ["bubblewrap"] : []), ...(server ? [server] : [])],
      what: [...(wantsSandbox ? [purposes.bubblewrap] : []), ...(server ? [purposes.server] : [])].join(
        ", and ",
      ),
    })),
    manager.install,
    privilege,
  );
  if (wantsServer && !serverPrograms.some(findOnPath))
    say(
      "no server could be installed: the embedded one serves (HEDDLE_NO_INSTALL=1 keeps this from being tried)",
    );
  if (!wantsSandbox || hasSandbox()) return;
  const { reason, output } = failure ?? {
    reason: `bwrap is still in none of ${sandboxPath.join(", ")}`,
    output: "",
  };
  if (output) process.stderr.write(output.endsWith("\n") ? output : `${output}\n`);
  sayWithoutSandbox(`, and installing it failed (${reason})`, byHand);
}

/**
 * @param {string} why Goes on with the sentence that it is missing.
 * @param {string} remedy
 */
function sayWithoutSandbox(why, remedy) {
  say(
    `bubblewrap, the sandbox of the agent's commands, is not installed${why}. Starting without: the agent answers, but has no shell and no files. To give it both, ${remedy} and start again`,
  );
}

/**
 * Makes one try after the other until one succeeds; returns how the last one failed.
 *
 * @param {readonly { packages: string[], what: string }[]} tries
 * @param {string} install
 * @param {readonly string[]} privilege
 */
async function installFirst(tries, install, privilege) {
  const [sudo, ...options] = privilege;
  /** @param {string} command */
  const asRoot = (command) => {
    const env = ["DEBIAN_FRONTEND=noninteractive", ...command.split(" ")];
    return sudo === undefined ? runQuietly("env", env) : runQuietly(sudo, [...options, "env", ...env]);
  };
  /** @type {import("./commands.js").CommandFailure | undefined} */
  let failure;
  for (const [index, { packages, what }] of tries.entries()) {
    const command = `${install} ${packages.join(" ")}`;
    // A fresh system knows no packages, an old one those of yesterday. It may go wrong for sources of no interest.
    const first = index === 0 && command.startsWith("apt-get") ? ["apt-get update"] : [];
    const calls = [...first, command].map((call) => (sudo ? `sudo ${call}` : call));
    say(`${index === 0 ? "" : "that failed; "}installing ${what} (as root: ${calls.join("; ")})`);
    for (const call of first) await asRoot(call);
    failure = await asRoot(command);
    if (!failure) return undefined;
  }
  return failure;
}

/** Tests start servers by their name, which Debian's package without a service lacks. */
export function nameServer() {
  const program = findOnPath("redis-check-rdb");
  if (!program || findOnPath("redis-server") || findOnPath("valkey-server")) return;
  const bin = join(root, ".cache", "bin");
  mkdirSync(bin, { recursive: true });
  rmSync(join(bin, "redis-server"), { force: true });
  symlinkSync(program, join(bin, "redis-server"));
  process.env.PATH = [bin, process.env.PATH].join(delimiter);
}

/** What to put before a command so that root runs it; undefined when that would need a password. */
async function withoutPassword() {
  if (process.getuid?.() === 0) return [];
  const refused = await runQuietly("sudo", ["--non-interactive", "true"]);
  return refused ? undefined : ["sudo", "--non-interactive"];
}

/**
 * A variable of the environment, or of `.env`, as the program reads it later (src/config/load.ts): an empty one counts as
 * absent, and of two lines the last. Not by Node's `parseEnv`, which Node 18 does not have.
 *
 * @param {string} name
 */
function settingOf(name) {
  const own = process.env[name]?.trim();
  if (own) return own;
  const blanks = "[^\\S\\n]*";
  const line = new RegExp(
    `^${blanks}(?:export\\s+)?${name}${blanks}=${blanks}(["'\`]?)([^\\n]*?)\\1${blanks}(?:#.*)?$`,
    "gm",
  );
  try {
    const lines = [...readFileSync(join(root, ".env"), "utf8").matchAll(line)];
    return lines.at(-1)?.[2]?.trim();
  } catch {
    return undefined;
  }
}
