import { join } from "node:path";
import type { Egress } from "../egress/egress.ts";
import { describePolicy } from "../egress/policy.ts";
import { defaultLimits, type SandboxLimits } from "../limits.ts";
import type { Probe, Problem, SandboxBackend } from "../sandbox.ts";
import { keepWorkspaces, type WorkspaceKeeper } from "../workspaces/keeper.ts";
import { folderStore, type WorkspaceStore } from "../workspaces/store.ts";
import { archiver } from "./archive.ts";
import { inspectHost, type ThreadFolder } from "./host.ts";
import { probeHost } from "./probe.ts";
import { type ReadOnlyMount, type ReadOnlyView, readOnlyView } from "./read-only.ts";
import { createSpawner, type Spawner } from "./spawner.ts";
import { type Quarters, type ThreadSandbox, threadSandbox } from "./thread.ts";

export interface BubblewrapOptions {
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
  /** Takes what an operator should know, one line at a time. */
  log?(line: string): void;
  now?(): number;
}

/**
 * Sandboxes made by bubblewrap: one for each call, with namespaces of its own, a system call filter, an
 * unprivileged user, and the thread's folder as the only place to write.
 *
 * Nothing is touched before the first `probe` or `open`. `open` rejects, naming the problems, where the probe
 * fails: there is no weaker mode to fall back to.
 */
export function createBubblewrapBackend(options: BubblewrapOptions): SandboxBackend {
  const { log = () => {}, egress = closed, readOnly = () => nothing, now = Date.now } = options;
  const threads = new Map<string, ThreadSandbox>();
  const jobCount = { running: 0 };
  let checked: Promise<Checked> | undefined;
  let spawner: Spawner | undefined;
  let view: ReadOnlyView | undefined;

  async function check(): Promise<Checked> {
    try {
      const inspected = inspectHost({
        dataDir: options.dataDir,
        limits: { ...defaultLimits, ...options.limits },
        requiresGroups: options.requiresGroups ?? false,
      });
      if (!inspected.ok) return { probe: failed(inspected.problem) };
      const { host } = inspected;
      spawner ??= createSpawner({ limits: host.limits, systemMounts: host.systemMounts }, log);
      view ??= readOnlyView(host, readOnly, log);
      const quarters: Quarters = { host, spawner, jobCount, egress, shown: view.mounts, log };
      const keeper = keepWorkspaces({
        root: host.root,
        store: options.store ?? folderStore(join(host.root, "archives"), now),
        shared: options.store !== undefined,
        tools: {
          key: host.keyOf,
          folderOf: host.folderOf,
          ...archiver(spawner, host.limits),
          rest: async (threadId) => (await threads.get(threadId)?.rest()) ?? true,
        },
        log,
        now,
      });
      return { probe: await probeHost(quarters), ready: { quarters, keeper } };
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      return {
        probe: failed({
          what: `The sandbox could not be prepared: ${text}.`,
          fix: "Make the data folder writable for the user that runs Heddle, and look at the disk.",
        }),
      };
    }
  }

  /** @throws where the probe fails */
  async function working(): Promise<Ready> {
    const { probe, ready } = await (checked ??= check());
    if (!probe.ok || ready === undefined) {
      throw new Error(probe.problems.map(({ what, fix }) => `${what} ${fix}`).join(" "));
    }
    return ready;
  }

  return {
    name: "bubblewrap",
    async probe() {
      checked = check();
      return (await checked).probe;
    },
    async open(threadId) {
      const { quarters, keeper } = await working();
      const known = threads.get(threadId);
      // What runs in a folder keeps it: another host's newer one would pull it away.
      if (known?.busy()) return known;
      const folder = await keeper.open(threadId);
      const opened = threads.get(threadId) ?? threadSandbox(quarters, threadId, folder);
      threads.set(threadId, opened);
      return opened;
    },
    async settle(threadId) {
      const { keeper } = await working();
      if (threads.get(threadId)?.touched()) await keeper.save(threadId);
    },
    workspaces: async () => (await working()).keeper,
    note: (threadId) => describePolicy(egress.policyOf(threadId)),
    async close() {
      await Promise.all([...threads.values()].map((thread) => thread.close()));
      threads.clear();
      await spawner?.close();
      view?.close();
    },
  };
}

interface Ready {
  quarters: Quarters;
  keeper: WorkspaceKeeper<ThreadFolder>;
}

/** What the check of the host found. */
interface Checked {
  probe: Probe;
  ready?: Ready;
}

const nothing: readonly ReadOnlyMount[] = [];

const closed: Egress = {
  isOpen: false,
  policyOf: () => undefined,
  listen: () => Promise.reject(new Error("There is no way out to listen for.")),
};

function failed(problem: Problem): Probe {
  return { ok: false, summary: "bubblewrap: not usable", problems: [problem] };
}
