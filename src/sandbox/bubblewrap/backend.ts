import { randomUUID } from "node:crypto";
import { join, resolve } from "node:path";
import { closedEgress, type WaysOut } from "../egress/egress.ts";
import { describePolicy } from "../egress/policy.ts";
import { defaultLimits } from "../limits.ts";
import { createMirrors } from "../mirrors/mirrors.ts";
import type { SandboxBackend } from "../sandbox.ts";
import { defaultFence } from "../running/fence.ts";
import { openRunningRegistry } from "../running/registry.ts";
import { type BackendOptions, createBackend } from "../thread/backend.ts";
import type { ThreadFolder } from "../thread/host.ts";
import { readIdentity } from "../thread/processes.ts";
import type { ToolChains } from "../thread/tool-chains.ts";
import { inspectHost } from "./inspect-host.ts";
import { createThreadNetwork } from "./network.ts";
import { probeHost } from "./probe.ts";
import { createServices } from "./services.ts";
import { createToolChains } from "./tool-chains.ts";
import { type ForkedSpawner, forkSpawner } from "./spawner.ts";

const noToolChains = { folders: {}, of: () => [] };

/**
 * Sandboxes made by bubblewrap: one for each call, with namespaces of its own, a system call filter, an
 * unprivileged user, and the thread's folder as the only place to write.
 *
 * @param early a spawner's process that is there already
 */
export function createBubblewrapBackend(options: BackendOptions, early?: ForkedSpawner): SandboxBackend {
  const { dataDir, egress = closedEgress, fence = defaultFence, log = () => {} } = options;
  let toolChains: ToolChains | undefined;
  return createBackend(
    {
      name: "bubblewrap",
      async prepare() {
        const forked = early ?? forkSpawner();
        early = undefined;
        let inspected: ReturnType<typeof inspectHost>;
        try {
          inspected = inspectHost({
            dataDir,
            limits: { ...defaultLimits, ...options.limits },
            requiresGroups: options.requiresGroups ?? false,
          });
        } catch (error) {
          forked.abandon();
          throw error;
        }
        if (!inspected.ok) {
          forked.abandon();
          return inspected;
        }
        const { host } = inspected;
        const closed = { folders: [resolve(dataDir), host.root], files: options.secretFiles ?? [] };
        toolChains = createToolChains(options.toolChains ?? noToolChains, {
          closed,
          ownUsers: host.ownUsers,
        });
        const notes = join(host.root, "running");
        const backend = randomUUID();
        const spawner = forked.prepare(
          { limits: host.limits, systemMounts: host.systemMounts, running: notes, backend, fence },
          log,
        );
        const socketFolder = join(host.root, "proxies");
        const networkOf = (id: string, folder: ThreadFolder, ways: WaysOut) =>
          createThreadNetwork({ spawner, folder, threadId: id, egress: ways, socketFolder, log });
        return {
          ok: true,
          runtime: {
            host,
            spawner,
            running: openRunningRegistry(notes, { backend, by: readIdentity(process.pid) }),
            networkOf: (threadId, folder) => networkOf(threadId, folder, egress),
            openServices: (floor) =>
              createServices({
                ...{ host, spawner, floor, egress, networkOf },
                closed,
              }),
            openMirrors: (floor) =>
              createMirrors({
                ...{ host, spawner, floor, egress, networkOf, log },
                bytes: options.mirrorBytes ?? 0,
              }),
            toolChains,
            probe: probeHost,
          },
        };
      },
      note: (threadId) =>
        [describePolicy(egress.policyOf(threadId)), toolChains?.note(threadId) ?? ""]
          .filter(Boolean)
          .join(" "),
    },
    options,
  );
}
