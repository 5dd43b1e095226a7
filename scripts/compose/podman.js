import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * Podman and podman-compose on a storage of their own, set up so that they also work as root of a machine without
 * systemd, with cgroups of version 1, and with few privileges.
 *
 * @param {{ cache: string, project: string, folder: string }} options
 */
export function openPodman({ cache, project, folder }) {
  mkdirSync(cache, { recursive: true });
  const settings = {
    "containers.conf": `
[containers]
# More may be forbidden: "setrlimit RLIMIT_NOFILE: Operation not permitted".
default_ulimits = ["nofile=16384:16384", "nproc=8192:8192"]
[network]
# CNI has no names for services.
network_backend = "netavark"
[engine]
# crun refuses cgroups of version 1.
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
`,
    "storage.conf": `
[storage]
driver = "overlay"
graphroot = "${join(cache, "storage")}"
runroot = "${join(cache, "run")}"
`,
  };
  for (const [name, text] of Object.entries(settings)) writeFileSync(join(cache, name), text);
  const env = {
    ...process.env,
    CONTAINERS_CONF: join(cache, "containers.conf"),
    CONTAINERS_STORAGE_CONF: join(cache, "storage.conf"),
  };
  const compose = ["podman-compose", "--project-name", project];
  // The old podman-compose of Debian 12 mixes its own words into the output of `exec`.
  const plainCompose = join(cache, "plain-compose");
  const lines = [
    "#!/bin/sh",
    `if [ "$1" = exec ]; then service=$3; shift 3; exec podman exec --interactive ${project}_\${service}_1 "$@"; fi`,
    `exec ${compose.join(" ")} "$@"`,
  ];
  writeFileSync(plainCompose, lines.join("\n"), { mode: 0o700 });
  return {
    /** @param {string[]} args */
    podman: (...args) => run(["podman", ...args], { env, cwd: folder }),
    /** @param {string[]} args */
    compose: (...args) => run([...compose, ...args], { env, cwd: folder }),
    /** Runs one of the scripts of deploy/ on this stack. @param {string[]} args */
    deploy: (...args) => run(["sh", ...args], { env: { ...env, COMPOSE: plainCompose }, cwd: folder }),
  };
}

/** No command here takes longer, ms. */
const limitMs = 300_000;

/**
 * @param {string[]} command
 * @param {{ env?: NodeJS.ProcessEnv, cwd?: string }} options
 * @returns {Promise<string>} what it printed on standard output; rejects with all that it printed
 */
export async function run([program = "", ...args], options = {}) {
  // Files instead of pipes: a container that it leaves running would hold a pipe open.
  const folder = mkdtempSync(join(tmpdir(), "heddle-command-"));
  const files = ["output", "errors"].map((name) => join(folder, name));
  const [output = 0, errors = 0] = files.map((file) => openSync(file, "w"));
  const stdio = ["ignore", output, errors];
  const child = spawn(program, args, { ...options, stdio, timeout: limitMs, killSignal: "SIGKILL" });
  const ended = once(child, "exit").finally(() => {
    closeSync(output);
    closeSync(errors);
  });
  try {
    const [code, signal] = await ended;
    const [said = "", complaints = ""] = files.map((file) => readFileSync(file, "utf8"));
    if (code === 0) return said.trim();
    const all = `${said}${complaints}`.slice(-4_000);
    throw new Error(`${program} ${args.join(" ")} ended with ${code ?? signal}:\n${all}`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
