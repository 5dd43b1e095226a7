// `node scripts/try-compose.js`: exercises docker-compose.yml for real, with docker-compose on Podman and without an
// image registry. As root, some five minutes the first time. It leaves base images in .cache/compose, and nothing else.
import { randomBytes } from "node:crypto";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ancestry, openConsole, processOf, until } from "./compose/watch.js";
import { copyProject, makeBaseImages } from "./compose/images.js";
import { openPodman, run } from "./compose/podman.js";

const missing = [];
for (const program of ["podman", "docker-compose", "debootstrap", "runc", "iptables"]) {
  await run(["which", program]).catch(() => missing.push(program));
}
if (missing.length > 0 || process.getuid?.() !== 0) {
  console.error(
    "This needs root and: apt-get install podman docker-compose debootstrap runc netavark aardvark-dns iptables",
  );
  process.exit(2);
}

const root = join(import.meta.dirname, "..");
const cache = join(root, ".cache/compose");
const project = "heddletry";
const port = 18_420;
const token = randomBytes(24).toString("hex");

const folder = await mkdtemp(join(tmpdir(), "heddle-compose-"));
const { podman, compose, deploy, close } = openPodman({ cache, project, folder });
const page = openConsole({ url: `http://127.0.0.1:${port}`, token });
const container = (service, number = 1) => `${project}_${service}_${number}`;
const workers = [1, 2, 3].map((number) => container("worker", number));
const services = [container("gateway"), ...workers];
/** What the file itself starts, without --scale. */
const unscaled = services.slice(0, 3);

/** Prints a line for what was tried, with how long it took and what came out. */
async function step(name, act) {
  const began = performance.now();
  const result = await act();
  const seconds = ((performance.now() - began) / 1_000).toFixed(1);
  console.log(`ok  ${name} (${seconds} s)${result ? `: ${result}` : ""}`);
}

function assert(holds, problem) {
  if (!holds) throw new Error(problem);
}

const mainProcess = (name) => podman("inspect", "--format", "{{.State.Pid}}", name);

/** The worker in whose container this command runs. */
async function workerOf(command, seconds) {
  const line = ancestry(await processOf(command, seconds));
  for (const name of workers) if (line.includes(await mainProcess(name))) return name;
  throw new Error(`"${command}" runs in no worker.`);
}

/** Gives the relay to the workers, does something to the one that runs it, and sees that another one ends it. */
async function relay(disturb, seconds) {
  const thread = await page.say("relay");
  const first = await workerOf("sleep 25.75", 20);
  const began = performance.now();
  const restore = await disturb(first);
  const second = await workerOf("sleep 2.75", seconds);
  const took = ((performance.now() - began) / 1_000).toFixed(1);
  await restore?.();
  const state = await page.ended(thread, 20);
  const file = await page.file(thread, "steps.txt");
  assert(state === "answered", `the turn ended as ${state}`);
  assert(file === "one\ntwo\nthree\n", `not each command ran once: ${file}`);
  return { thread, first, second, took };
}

const healthy = (name) =>
  until(`The health of ${name}`, 30, () =>
    podman("healthcheck", "run", name).then(
      () => true,
      () => undefined,
    ),
  );
const running = (name) => until(`The start of ${name}`, 20, async () => (await serves(name)) || undefined);
const serves = (name) =>
  podman("exec", name, "heddle", "health").then(
    () => true,
    () => false,
  );

async function everything() {
  await step("base images from Debian packages and Node's npm package", () =>
    makeBaseImages({ cache, podman }),
  );

  await step("the Dockerfile builds", async () => {
    await copyProject({
      from: root,
      to: folder,
      environment: { HEDDLE_CONSOLE_TOKEN: token, HEDDLE_PORT: String(port) },
      settings: "demo: { scripts: demo }\n",
    });
    await cp(join(import.meta.dirname, "compose/demo"), join(folder, "config/demo"), { recursive: true });
    const authority = process.env.NODE_EXTRA_CA_CERTS;
    const trust = authority ? ["--volume", `${authority}:${authority}:ro`] : [];
    const variables = authority ? ["--env", `NODE_EXTRA_CA_CERTS=${authority}`] : [];
    await podman(
      ...["build", "--format", "docker", "--network", "host", ...trust, ...variables],
      ...["--tag", "heddle", "."],
    );
    const bytes = Number(await podman("image", "inspect", "--format", "{{.Size}}", "heddle"));
    const base = Number(
      await podman("image", "inspect", "--format", "{{.Size}}", "docker.io/library/node:24-bookworm-slim"),
    );
    return `${Math.round((bytes - base) / 1e6)} MB on top of the Node image`;
  });

  await step("up, with --scale worker=3, when Valkey is healthy", async () => {
    await compose("up", "--detach", "--no-build", "--scale", "worker=3");
    for (const name of services) await running(name);
  });

  await step("/healthz and /readyz on the published port, health checks in every container", async () => {
    for (const path of ["/healthz", "/readyz"]) assert((await page.probe(path)) === 200, path);
    for (const name of [container("valkey"), ...services]) await healthy(name);
  });

  await step("the sandbox works in a worker, as an ordinary user without capabilities", async () => {
    const report = await podman("exec", workers[0], "heddle", "doctor");
    const status = await podman("exec", workers[0], "cat", "/proc/self/status");
    assert(/^CapBnd:\t0+$/m.test(status) && /^Uid:\t1000/m.test(status), status);
    return /sandbox +(.*?);.*?;/.exec(report)?.[0];
  });

  await step("heddle run in the gateway is done by a worker and exits with 0", async () => {
    await podman("exec", container("gateway"), "heddle", "run", "hello");
  });

  await step("SIGKILL of a worker in the middle of a command: the other one finishes", async () => {
    const { first, second, took } = await relay(async (name) => {
      await podman("kill", "--signal", "KILL", name);
      return () => podman("start", name);
    }, 60);
    assert(first !== second, `${second} took it again`);
    return `${first} died, ${second} went on after ${took} s, no command ran twice`;
  });

  await step("SIGTERM to a worker in the middle of a command: it hands over", async () => {
    for (const name of workers) await running(name);
    const { first, second, took } = await relay(async (name) => {
      await podman("stop", "--time", "30", name);
      const code = await podman("inspect", "--format", "{{.State.ExitCode}}", name);
      assert(code === "0", `it ended with ${code}`);
      return () => podman("start", name);
    }, 60);
    assert(first !== second, `${second} took it again`);
    return `${first} ended with 0, ${second} went on after ${took} s, no command ran twice`;
  });

  let kept = "";
  await step("SIGKILL and restart of Valkey in the middle of a command: the turn goes on", async () => {
    const valkey = container("valkey");
    const { thread, took } = await relay(async () => {
      await podman("kill", "--signal", "KILL", valkey);
      assert((await page.probe("/readyz")) === 503, "/readyz did not notice");
      await podman("start", valkey);
    }, 60);
    kept = thread;
    return `ended as if nothing had been, next command ${took} s later`;
  });

  await step("backup, everything removed, restore into empty volumes", async () => {
    const said = await podman("exec", container("gateway"), "heddle", "threads", "list");
    await deploy("deploy/backup.sh", "backup");
    await compose("down", "--volumes");
    await deploy("deploy/restore.sh", "backup");
    for (const name of unscaled) await running(name);
    const again = await podman("exec", container("gateway"), "heddle", "threads", "list");
    assert(again === said, `before:\n${said}\nafter:\n${again}`);
    assert((await page.file(kept, "steps.txt")) === "one\ntwo\nthree\n", "the workspace is not the same");
    return `${said.split("\n").length} threads and their files are back`;
  });

  await step("down: everybody ends by SIGTERM", async () => {
    await Promise.all(unscaled.map((name) => podman("stop", "--time", "30", name)));
    for (const name of unscaled) {
      const code = await podman("inspect", "--format", "{{.State.ExitCode}}", name);
      assert(code === "0", `${name} ended with ${code}`);
    }
  });
}

for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, () => void clean().finally(() => process.exit(1)));
}
try {
  await everything();
} catch (error) {
  console.log(`FAILED: ${error instanceof Error ? error.message : String(error)}`);
  for (const name of services) {
    console.log(`--- ${name}\n${await podman("logs", "--tail", "30", name).catch(String)}`);
  }
  process.exitCode = 1;
} finally {
  await clean();
}

async function clean() {
  await compose("down", "--volumes").catch(() => undefined);
  await podman("network", "rm", "--force", `${project}_default`).catch(() => undefined);
  await podman("image", "prune", "--force").catch(() => undefined);
  await close();
  await rm(folder, { recursive: true, force: true });
}
