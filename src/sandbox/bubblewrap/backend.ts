import { defaultLimits, type SandboxLimits } from "../limits.ts";
import type { Probe, Problem, SandboxBackend } from "../sandbox.ts";
import { type Host, inspectHost } from "./host.ts";
import { probeHost } from "./probe.ts";
import { createSpawner, type Spawner } from "./spawner.ts";
import { type ThreadSandbox, threadSandbox } from "./thread.ts";

/**
 * Sandboxes made by bubblewrap: one for each call, with namespaces of its own, a system call filter, an
 * unprivileged user, and the thread's folder as the only place to write.
 *
 * Nothing is touched before the first `probe` or `open`. `open` rejects, naming the problems, where the probe
 * fails: there is no weaker mode to fall back to.
 *
 * @param options.dataDir where the workspaces are kept, unless sandbox users cannot reach it there
 * @param options.log takes what an operator should know, one line at a time
 */
export function createBubblewrapBackend(options: {
  dataDir: string;
  limits?: Partial<SandboxLimits>;
  log?(line: string): void;
}): SandboxBackend {
  const log = options.log ?? (() => {});
  const threads = new Map<string, ThreadSandbox>();
  const jobCount = { running: 0 };
  let checked: Promise<Checked> | undefined;
  let spawner: Spawner | undefined;

  async function check(): Promise<Checked> {
    try {
      const inspected = inspectHost({
        dataDir: options.dataDir,
        limits: { ...defaultLimits, ...options.limits },
      });
      if (!inspected.ok) return { probe: failed(inspected.problem) };
      const { host } = inspected;
      spawner ??= createSpawner({ limits: host.limits, systemMounts: host.systemMounts }, log);
      return { probe: await probeHost(host, spawner), ready: { host, spawner } };
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

  return {
    name: "bubblewrap",
    async probe() {
      checked = check();
      return (await checked).probe;
    },
    async open(threadId) {
      const { probe, ready } = await (checked ??= check());
      if (!probe.ok || ready === undefined) {
        throw new Error(probe.problems.map(({ what, fix }) => `${what} ${fix}`).join(" "));
      }
      const known = threads.get(threadId);
      if (known !== undefined) return known;
      const { host } = ready;
      const opened = threadSandbox(host, ready.spawner, host.folderOf(threadId), jobCount);
      threads.set(threadId, opened);
      return opened;
    },
    async close() {
      await Promise.all([...threads.values()].map((thread) => thread.close()));
      threads.clear();
      await spawner?.close();
    },
  };
}

/** What the check of the host found. */
interface Checked {
  probe: Probe;
  ready?: { host: Host; spawner: Spawner };
}

function failed(problem: Problem): Probe {
  return { ok: false, summary: "bubblewrap: not usable", problems: [problem] };
}
