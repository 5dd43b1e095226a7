import { randomBytes, randomUUID } from "node:crypto";
import { join, resolve } from "node:path";
import { defaultLimits } from "../limits.ts";
import { defaultFence, Fence } from "../running/fence.ts";
import { openRunningRegistry } from "../running/registry.ts";
import type { Probe, SandboxBackend } from "../sandbox.ts";
import { type BackendOptions, createBackend } from "../thread/backend.ts";
import type { HostRuntime } from "../thread/driver.ts";
import { createThreadFolders, makeRoot, nameProbe } from "../thread/host.ts";
import { readIdentity } from "../thread/processes.ts";
import { createThreadSandbox, type SandboxDeps } from "../thread/thread-sandbox.ts";
import { createPlainSpawner } from "./spawner.ts";

const noSandbox =
  "NO SANDBOX: commands run as the user that runs Heddle, with all its files, the network and no limits but time, output and disk";
const relativePaths =
  "Commands start in the workspace; write paths relative to it, because /workspace and /skills do not exist for commands.";

/** No isolation at all, for one person on a machine of no value. */
export function createUnconfinedBackend(options: BackendOptions): SandboxBackend {
  return createBackend(
    {
      name: "none",
      prepare: async () => ({
        ok: true,
        runtime: createHostRuntime(options),
      }),
      note: () =>
        `There is no sandbox: your commands can reach every file of the person who runs you, and the network. Ask that person before anything that reaches outside the workspace. ${relativePaths}`,
    },
    options,
  );
}

function createHostRuntime({ dataDir, limits, fence = defaultFence }: BackendOptions): HostRuntime {
  const root = resolve(dataDir);
  makeRoot(root);
  const running = openRunningRegistry(join(root, "running"), {
    backend: randomUUID(),
    by: readIdentity(process.pid),
  });
  running.sweep();
  return {
    host: {
      limits: { ...defaultLimits, ...limits },
      version: "",
      root,
      relocated: false,
      ownUsers: false,
      requiresGroups: false,
      systemMounts: [],
      ...createThreadFolders(root),
    },
    running,
    spawner: createPlainSpawner(noSandbox, { registry: running, fence: new Fence(fence) }),
    // All of them have the host's.
    networkOf: () => ({ current: () => undefined, open: async () => undefined, close: async () => {} }),
    probe,
  };
}

async function probe(deps: SandboxDeps): Promise<Probe> {
  const sandbox = createThreadSandbox(deps, nameProbe(), deps.host.folderOf(nameProbe()));
  const name = `canary-${randomBytes(6).toString("hex")}`;
  const written = await sandbox.writeFile(name, Buffer.from(name));
  const listed = await sandbox.listFiles();
  const removed = await sandbox.exec({ command: `rm ${name}` });
  await sandbox.close();
  if (written.ok && listed.ok && removed.exitCode === 0) {
    const warning = {
      what: `${noSandbox}.`,
      fix: "Remove sandbox.backend from heddle.yaml to isolate them.",
    };
    return { ok: true, summary: noSandbox, problems: [warning], missing: [] };
  }
  const said = [written, listed].map((result) => (result.ok ? "" : result.message)).find(Boolean);
  const what = `Commands and files do not work: ${said ?? removed.problem ?? removed.stderr.toString().trim()}.`;
  const fix =
    "Install GNU coreutils and findutils and put them first in PATH (on macOS: `brew install coreutils findutils`).";
  return { ok: false, summary: `${noSandbox}: not usable`, problems: [{ what, fix }], missing: [] };
}
