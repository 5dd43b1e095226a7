import { join } from "node:path";
import type { CheckpointLimits } from "../checkpoints.ts";
import { createFileSnapshots } from "../checkpoints/file-snapshots.ts";
import { createCheckpointStore } from "../checkpoints/store.ts";
import {
  createThreadCheckpoints,
  type ThreadCheckpointDeps,
  type ThreadCheckpoints,
} from "../checkpoints/thread-checkpoints.ts";
import { closedEgress, type Egress } from "../egress/egress.ts";
import type { SandboxLimits } from "../limits.ts";
import type { Probe, Problem, SandboxBackend, Workspaces } from "../sandbox.ts";
import type { ServiceHost, ServiceStart } from "../service.ts";
import { isOutOfFiles, moreFiles } from "../system-error.ts";
import type { WorkspaceLifecycle } from "../workspaces/lifecycle-contracts.ts";
import { createWorkspaceLifecycle } from "../workspaces/lifecycle.ts";
import { createStaging } from "../workspaces/staging.ts";
import { createFolderStore, type WorkspaceStore } from "../workspaces/store.ts";
import { createHostProcesses } from "../running/host-processes.ts";
import type { FenceTimes } from "../running/fence.ts";
import { createArchiver } from "./archive.ts";
import { watchDiskFloor } from "./disk-floor.ts";
import type { BackendDriver, HostRuntime, ServiceRunner } from "./driver.ts";
import type { ThreadFolder } from "./host.ts";
import { createReadOnlyView, type ReadOnlyMount, type ReadOnlyView } from "./read-only.ts";
import { createThreadSandbox, type SandboxDeps, type ThreadSandbox } from "./thread-sandbox.ts";
import type { ToolChainSettings } from "./tool-chains.ts";

export interface BackendOptions {
  /** Where the workspaces are kept, unless sandbox users cannot reach it there. */
  dataDir: string;
  limits?: Partial<SandboxLimits>;
  /** Refuse to work where no control group holds the limits. */
  requiresGroups?: boolean;
  /** Folders that every sandbox sees, asked for each command; the same array for as long as nothing has changed. */
  readOnly?(): readonly ReadOnlyMount[];
  /** The ways out. Without it there are none. */
  egress?: Egress;
  /** Where workers share workspaces. Without it, archives stay on this host. */
  store?: WorkspaceStore;
  /** What is kept of files for an undo, and where, if not on this host. Without it nothing is. */
  checkpoints?: CheckpointLimits & { folder?: string; reached?: ThreadCheckpointDeps["reached"] };
  /** What is kept of repositories on this host, in bytes. Default: nothing. */
  mirrorBytes?: number;
  /** What threads have ready beside the system's programs. Default: nothing. */
  toolChains?: ToolChainSettings;
  /** Files with secrets of Heddle, which no service may be given with a folder above them. */
  secretFiles?: readonly string[];
  /** See {@link FenceTimes}. */
  fence?: FenceTimes;
  /** Takes what an operator should know, one line at a time. */
  log?(line: string): void;
  now?(): number;
}

/**
 * A back end of this kind. Nothing is touched before the first `probe` or `open`. `open` rejects, naming the
 * problems, where the probe fails: there is no weaker mode to fall back to.
 */
export function createBackend(kind: BackendDriver, options: BackendOptions): SandboxBackend {
  const { log = () => {}, egress = closedEgress, readOnly = () => nothing, now = Date.now } = options;
  /** With the time of their last opening, ms. */
  const threads = new Map<string, { sandbox: ThreadSandbox; at: number }>();
  let checked: Promise<Checked> | undefined;
  let preparing: ReturnType<BackendDriver["prepare"]> | undefined;
  let ready: Ready | undefined;

  async function check(): Promise<Checked> {
    try {
      if (ready === undefined) {
        // Two probes at a time prepare it once.
        const prepared = await (preparing ??= kind.prepare().finally(() => (preparing = undefined)));
        if (!prepared.ok) return { probe: createFailedProbe(kind, prepared.problem) };
        ready ??= initialize({ ...options, log, egress, readOnly, now }, prepared.runtime, threads);
      }
      return { probe: await ready.runtime.probe(ready.deps), ready };
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      return {
        probe: createFailedProbe(kind, {
          what: `The sandbox could not be prepared: ${text}.`,
          fix: isOutOfFiles(error)
            ? moreFiles
            : "Make the data folder writable for the user that runs Heddle, and look at the disk.",
        }),
      };
    }
  }

  /** @throws where the probe fails */
  async function requireReady(): Promise<Ready> {
    const { probe, ready: usable } = await (checked ??= check());
    if (!probe.ok || usable === undefined) {
      throw new Error(probe.problems.map(({ what, fix }) => `${what} ${fix}`).join(" "));
    }
    return usable;
  }

  /** Forgets threads in which nothing has run for long, with the output of their jobs. */
  async function evictIdle(): Promise<void> {
    const before = now() - idleMs;
    const idle = [...threads].filter(([, { sandbox, at }]) => !sandbox.busy() && at < before);
    for (const [id] of idle) threads.delete(id);
    await Promise.all(idle.map(([, { sandbox }]) => sandbox.close()));
  }

  return {
    name: kind.name,
    processes: createHostProcesses({
      // Where the probe fails nothing is started here, by whomever.
      open: () => requireReady().then(placeOf, () => undefined),
      place: () => ready?.runtime.running.place,
      log,
    }),
    async probe() {
      checked = check();
      return (await checked).probe;
    },
    async open(threadId, claim) {
      const { deps, lifecycle } = await requireReady();
      await evictIdle();
      const known = threads.get(threadId)?.sandbox;
      if (known?.busy()) {
        // Another host's newer folder would pull this one away under what runs in it.
        await lifecycle.catchUp(threadId);
        threads.set(threadId, { sandbox: known, at: now() });
        return claim ? known.on(claim) : known;
      }
      const folder = await lifecycle.open(threadId);
      const sandbox = threads.get(threadId)?.sandbox ?? createThreadSandbox(deps, threadId, folder);
      threads.set(threadId, { sandbox, at: now() });
      return claim ? sandbox.on(claim) : sandbox;
    },
    opened: (threadId) => threads.get(threadId),
    async settle(threadId) {
      const { lifecycle } = await requireReady();
      if (threads.get(threadId)?.sandbox.touched()) await lifecycle.save(threadId);
    },
    serve: createServe(requireReady),
    workspaces: async () => workspacesOf(await requireReady()),
    checkpoints: async () => (await requireReady()).checkpoints,
    note: kind.note,
    async close() {
      // What is being prepared is there afterwards, and is to be closed too.
      await preparing?.catch(() => undefined);
      await Promise.all([...threads.values()].map(({ sandbox }) => sandbox.close()));
      threads.clear();
      await ready?.services?.close();
      await ready?.deps.mirrors?.close();
      await ready?.runtime.spawner.close();
      ready?.view.close();
    },
  };
}

/** @param threads those that are open */
function initialize(
  options: BackendOptions & Required<Pick<BackendOptions, "log" | "egress" | "readOnly" | "now">>,
  runtime: HostRuntime,
  threads: ReadonlyMap<string, { sandbox: ThreadSandbox }>,
): Ready {
  const { log, egress, readOnly, now } = options;
  const { host, spawner } = runtime;
  const view = createReadOnlyView(host, readOnly, log);
  const floor = watchDiskFloor(host, log);
  const lifecycle = createWorkspaceLifecycle({
    root: host.root,
    store: options.store ?? createFolderStore(join(host.root, "archives"), now),
    shared: options.store !== undefined,
    tools: {
      key: host.keyOf,
      folderOf: host.folderOf,
      ...createArchiver(spawner, host.limits, log),
      quiesce: async (threadId) => (await threads.get(threadId)?.sandbox.quiesce()) ?? true,
    },
    log,
    now,
  });
  const kept = openCheckpoints(options, { runtime, lifecycle }, (threadId) =>
    Boolean(threads.get(threadId)?.sandbox.working()),
  );
  const deps: SandboxDeps = {
    ...{ ...runtime, floor, jobCount: { running: 0 }, egress, shown: view.mounts },
    ...(kept && { keepFiles: (folder, turn, signal) => kept.snapshots.keep(folder, turn, { signal }) }),
    ...(runtime.openMirrors && { mirrors: runtime.openMirrors(floor) }),
  };
  const services = runtime.openServices?.(floor);
  return { runtime, view, deps, lifecycle, checkpoints: kept?.checkpoints, services };
}

/** What is kept for an undo goes with the workspace. */
function workspacesOf({ lifecycle, checkpoints }: Ready): Workspaces {
  if (!checkpoints) return lifecycle;
  return {
    ...lifecycle,
    async remove(threadId, before) {
      const isGone = await lifecycle.remove(threadId, before);
      if (isGone) await checkpoints.remove(threadId);
      return isGone;
    },
    async clean(policy) {
      const report = await lifecycle.clean(policy);
      if (report) await checkpoints.clean();
      return report;
    },
  };
}

function openCheckpoints(
  {
    checkpoints: limits,
    log,
    now,
  }: Pick<BackendOptions, "checkpoints"> & Required<Pick<BackendOptions, "log" | "now">>,
  { runtime: { host, spawner }, lifecycle }: Pick<Ready, "runtime" | "lifecycle">,
  isWorking: ThreadCheckpointDeps["isWorking"],
): { snapshots: ReturnType<typeof createFileSnapshots>; checkpoints: ThreadCheckpoints } | undefined {
  if (!limits || limits.most === 0) return undefined;
  const store = createCheckpointStore(limits.folder ?? join(host.root, "checkpoints"));
  const staging = createStaging(host.root, log, now);
  const snapshots = createFileSnapshots({ host, spawner, store, staging, limits, log, now });
  const deps = { host, lifecycle, staging, store, snapshots, limits, isWorking, now };
  const { reached } = limits;
  return {
    snapshots: snapshots,
    checkpoints: createThreadCheckpoints({ ...deps, ...(reached && { reached }) }),
  };
}

/** @param working rejects where nothing can be isolated here */
function createServe(working: () => Promise<Ready>): ServiceHost["serve"] {
  return async (request) => {
    try {
      const { services } = await working();
      return services ? await services.serve(request) : notIsolated;
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      return { ok: false, reason: "no-sandbox", problem: text.replace(/\.$/, "") };
    }
  };
}

const notIsolated: ServiceStart = {
  ok: false,
  reason: "no-sandbox",
  problem: "sandbox.backend in heddle.yaml is none",
};

/** Longer than any turn, which has a day at most (agent.maxMinutes): no turn holds a sandbox that is forgotten. */
const idleMs = 2 * 86_400_000;

interface Ready {
  runtime: HostRuntime;
  view: ReadOnlyView;
  deps: SandboxDeps;
  lifecycle: WorkspaceLifecycle<ThreadFolder>;
  checkpoints: ThreadCheckpoints | undefined;
  services: ServiceRunner | undefined;
}

function placeOf({ runtime: { running, host, spawner } }: Ready) {
  return { running, keyOf: host.keyOf, confirm: spawner.confirm };
}

/** What the check of the host found. */
interface Checked {
  probe: Probe;
  ready?: Ready;
}

const nothing: readonly ReadOnlyMount[] = [];

function createFailedProbe({ name }: BackendDriver, problem: Problem): Probe {
  return { ok: false, summary: `${name}: not usable`, problems: [problem], missing: [] };
}
