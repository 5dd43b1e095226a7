import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

/**
 * Podman on a storage of its own, in place of a Docker engine for docker-compose, set up so that it also works as root
 * of a machine without systemd, with cgroups of version 1, and with few privileges.
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
  const socket = `unix://${join(folder, "podman.sock")}`;
  const env = {
    ...process.env,
    DOCKER_HOST: socket,
    CONTAINERS_CONF: join(cache, "containers.conf"),
    CONTAINERS_STORAGE_CONF: join(cache, "storage.conf"),
  };
  const compose = ["docker-compose", "--project-name", project];
  const podman = (...args) => run(["podman", ...args], { env, cwd: folder });
  const service = spawn("podman", ["system", "service", "--time", "0", socket], { env, stdio: "ignore" });
  // Health checks are a matter of systemd's timers for Podman; what is there is asked all the time instead.
  const asking = new AbortController();
  const health = async () => {
    while (!asking.signal.aborted) {
      const names = await podman("ps", "--filter", `name=${project}_valkey`, "--format", "{{.Names}}");
      if (names) await podman("healthcheck", "run", names).catch(() => undefined);
      await delay(1_000, undefined, { signal: asking.signal }).catch(() => undefined);
    }
  };
  const asked = health();
  return {
    /** @param {string[]} args */
    podman,
    /** @param {string[]} args */
    compose: (...args) => run([...compose, ...args], { env, cwd: folder }),
    /** Runs one of the scripts of deploy/ on this stack. @param {string[]} args */
    deploy: (...args) => run(["sh", ...args], { env: { ...env, COMPOSE: compose.join(" ") }, cwd: folder }),
    async close() {
      asking.abort();
      await asked.catch(() => undefined);
      service.kill();
    },
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
