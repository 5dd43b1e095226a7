import { randomBytes, randomInt } from "node:crypto";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { lstat, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { basename, join } from "node:path";
import { type FileFailure, type Probe, type Problem, usefulPrograms } from "../sandbox.ts";
import { type Host, nameProbe, type ThreadFolder } from "../thread/host.ts";
import { moreFiles } from "../system-error.ts";
import { listProcessesNaming } from "../thread/processes.ts";
import { shellCommand } from "../thread/shell.ts";
import type { Spawner } from "../thread/spawner.ts";
import { createThreadSandbox, type SandboxDeps } from "../thread/thread-sandbox.ts";
import { diagnose } from "./diagnosis.ts";
import { isInstalled } from "./inspect-host.ts";

const probeTimeoutMs = 20_000;
const tooSlow: Problem = {
  what: `The sandbox's self-test did not end within ${probeTimeoutMs / 1_000} s.`,
  fix: "Look at the load of this machine; the test is repeated when a turn begins.",
};

/** Arguments: canary file, canary port, how long the daemon sleeps. Prints facts as `name=value`. Leaves a daemon behind on purpose. */
const factsScript = `
node --version >/dev/null 2>&1 &
node=$!
while read -r key value; do
  case $key in NoNewPrivs: | Seccomp: | CapEff:) echo "\${key%:}=$value" ;; esac
done </proc/self/status
echo "processes=$(ulimit -u)"
for name in $(compgen -e) $(tr '\\0' '\\n' </proc/1/environ | cut -d = -f 1); do echo "variable=$name"; done
for path in / /usr /etc /dev /run; do { : >"$path/canary"; } 2>/dev/null && echo "writable=$path"; done
{ : >>/proc/sys/kernel/core_pattern; } 2>/dev/null && echo "writable=/proc/sys"
[ -e "$1" ] && echo "visible=canary file"
(: <>"/dev/tcp/127.0.0.1/$2") 2>/dev/null && echo "visible=loopback of the host"
for program in ${usefulPrograms.join(" ")}; do [ -x "$(command -v "$program")" ] || echo "missing=$program"; done
wait "$node" || echo "missing=node"
setsid sleep "$3" </dev/null >/dev/null 2>&1 &
`;

/** Everything that the sandbox sets itself or bash adds. */
const knownVariables = ["PATH", "HOME", "SHLVL", "SHELL", "LC_CTYPE", "TERM", "EMAIL", "PWD", "OLDPWD", "_"];

/** Runs the real thing with canaries and looks whether it holds. */
export async function probeHost(deps: SandboxDeps): Promise<Probe> {
  const { host, spawner } = deps;
  const folder = host.folderOf(nameProbe());
  const [{ problems: isolation, missing }, files] = await Promise.all([
    isolationFacts(host, spawner, folder),
    fileProblems(deps, folder),
  ]);
  const tier = await spawner.tier();
  // Where no sandbox works, that its files do not work either is no news.
  const problems = isolation.length > 0 ? isolation : files;
  if (host.requiresGroups && !tier.exact) problems.push(tooWeak(tier.summary));
  const ok = problems.length === 0;
  const { limits, root, relocated } = host;
  const summary = [
    `bubblewrap ${host.version}`,
    tier.summary,
    `${limits.memoryBytes / 2 ** 20} MiB and ${limits.processes} processes per command`,
    folder.owner ? "a user of its own per thread" : "as the bot's own user",
    deps.egress.isOpen ? "network: listed hosts" : "no network",
    `workspaces in ${join(root, "workspaces")}${relocated ? " (sandbox users cannot reach the data folder)" : ""}`,
  ].join("; ");
  return { ok, summary, problems: [...problems, ...warnings(deps)], missing };
}

function tooWeak(tier: string): Problem {
  return {
    what: `${tier[0]?.toUpperCase()}${tier.slice(1)} is in force, and sandbox.require in heddle.yaml asks for a control group.`,
    fix: "Run Heddle as a systemd unit with `Delegate=cpu memory pids`, or set sandbox.require to any.",
  };
}

async function isolationFacts(
  host: Host,
  spawner: Spawner,
  folder: ThreadFolder,
): Promise<Pick<Probe, "problems" | "missing">> {
  const canaryFile = join(host.root, `canary-${randomBytes(6).toString("hex")}`);
  writeFileSync(canaryFile, "", { mode: 0o644 });
  const listener = createServer((socket) => socket.destroy()).listen(0, "127.0.0.1");
  try {
    await once(listener, "listening");
    const address = listener.address();
    const port = typeof address === "object" ? address?.port : undefined;
    let output = "";
    // By this number of seconds, and no other process sleeps as long, the daemon is known afterwards.
    const seconds = `60.${randomInt(2 ** 47)}`;
    const { end, exitCode, problem, said } = await spawner.launch(folder, {
      program: shellCommand(factsScript, [canaryFile, String(port), seconds]),
      cwd: "/workspace",
      timeoutMs: probeTimeoutMs,
      floodBytes: 65_536,
      fileBytes: host.limits.fileBytes,
      onOutput: (_stream, chunk) => (output += chunk.toString()),
    }).ended;
    if (end === "timeout") return { problems: [tooSlow], missing: [] };
    if (end !== "exit" || exitCode !== 0) {
      // What does not even get to bubblewrap says nothing about what the host lets it do.
      const hasBegun = said !== undefined || problem === undefined;
      const words = said ?? `ended by ${end}, ${output.slice(-200)}`;
      return { problems: [hasBegun ? diagnose(words) : describeNoStart(problem)], missing: [] };
    }
    const survivors = listProcessesNaming(seconds);
    const facts = output.split("\n");
    return {
      problems: listBrokenPromises(host, facts, survivors.length),
      missing: valuesOf(facts, "missing"),
    };
  } finally {
    listener.close();
    await rm(canaryFile);
  }
}

function valuesOf(facts: string[], name: string): string[] {
  return facts.filter((fact) => fact.startsWith(`${name}=`)).map((fact) => fact.slice(name.length + 1));
}

function listBrokenPromises(host: Host, facts: string[], survivors: number): Problem[] {
  const broken: string[] = [];
  const expect = (holds: boolean, failure: string) => holds || broken.push(failure);
  expect(valuesOf(facts, "NoNewPrivs")[0] === "1", "privileges can be gained");
  expect(valuesOf(facts, "Seccomp")[0] === "2", "the system call filter is not in force");
  expect(/^0+$/.test(valuesOf(facts, "CapEff")[0] ?? ""), "capabilities are left");
  expect(
    valuesOf(facts, "processes")[0] === String(host.limits.processes),
    "the process limit is not in force",
  );
  for (const name of valuesOf(facts, "variable")) {
    expect(knownVariables.includes(name), `the variable ${name} is visible`);
  }
  for (const path of valuesOf(facts, "writable")) expect(false, `${path} is writable`);
  for (const canary of valuesOf(facts, "visible")) expect(false, `the ${canary} is visible`);
  expect(survivors === 0, `${survivors} processes outlived their command`);
  return broken.map((failure) => ({
    what: `Sandbox self-test failed: ${failure}.`,
    fix: "Do not run Heddle on this host before that is understood; report it with the output of `heddle doctor`.",
  }));
}

/** @param problem the sentence with which the first command of the self-test was refused */
function describeNoStart(problem: string): Problem {
  const fix = /\b(EMFILE|ENFILE)\b/.test(problem)
    ? moreFiles
    : "Look at the disk, the memory and the limits of the process that runs Heddle; the test is repeated when a turn begins.";
  return { what: problem, fix };
}

/** The file tools need GNU programs, and the owner of a file shows which kernel user really wrote it. */
async function fileProblems(deps: SandboxDeps, folder: ThreadFolder): Promise<Problem[]> {
  const sandbox = createThreadSandbox(deps, nameProbe(), folder);
  const name = `canary-${randomBytes(6).toString("hex")}`;
  const content = randomBytes(16);
  const written = await sandbox.writeFile(name, content);
  const [read, listed] = await Promise.all([sandbox.readFile(name), sandbox.listFiles()]);
  const worked =
    written.ok &&
    read.ok &&
    read.data.equals(content) &&
    listed.ok &&
    listed.entries.some(({ path }) => path === name);
  const path = join(folder.path, "ws", name);
  const uid = worked ? (await lstat(path)).uid : undefined;
  await rm(path, { force: true });
  await sandbox.close();
  if (!worked) {
    return [describeFileProblem([written, read, listed].find((result) => !result.ok))];
  }
  if (uid === 0 || uid !== (folder.owner?.uid ?? process.getuid?.())) {
    return [
      {
        what: `Refusing to run sandboxed code: it runs as kernel user ${uid}.`,
        fix: "Run Heddle as an ordinary user.",
      },
    ];
  }
  return [];
}

/** @param failed what the first tool that failed says; absent when they read something else than was written */
export function describeFileProblem(failed: FileFailure | undefined): Problem {
  const why = failed?.message.replace(/\.$/, "") ?? "the content differs";
  return {
    what: `Files cannot be read and written in the sandbox: ${why}.`,
    fix:
      failed?.reason === "disk-full"
        ? "Make room on the disk of the data folder, or set HEDDLE_DATA_DIR to a folder on another one."
        : "Install GNU coreutils and findutils.",
  };
}

/** Node collects none but its own children, and `heddle start` has its sandboxes in a child. */
function isNodeProcessOne(): boolean {
  if (process.pid === 1) return true;
  try {
    const [program = ""] = readFileSync("/proc/1/cmdline", "utf8").split("\0");
    return basename(program) === basename(process.execPath);
  } catch {
    return false;
  }
}

function warnings({ egress, toolChains }: Pick<SandboxDeps, "egress" | "toolChains">): Problem[] {
  const warned: Problem[] = toolChains?.problems() ?? [];
  if (isNodeProcessOne()) {
    warned.push({
      what: "Heddle is process 1 of its container, which does not collect the ended processes of sandboxes.",
      fix: "Start the container with `docker run --init`, or with `init: true` in compose.",
    });
  }
  if (egress.isOpen && !isInstalled("socat")) {
    warned.push({
      what: "socat was not found, without which commands reach none of the listed hosts.",
      fix: "Install it: `apt-get install socat`.",
    });
  }
  return warned;
}
