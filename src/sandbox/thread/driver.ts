import type { Mirrors } from "../mirrors/mirrors.ts";
import type { RunningRegistry } from "../running/registry.ts";
import type { Probe, Problem } from "../sandbox.ts";
import type { ServiceHost } from "../service.ts";
import type { DiskFloor } from "./disk-floor.ts";
import type { Host, ThreadFolder } from "./host.ts";
import type { ThreadNetwork } from "./network.ts";
import type { Spawner } from "./spawner.ts";
import type { SandboxDeps } from "./thread-sandbox.ts";
import type { ToolChains } from "./tool-chains.ts";

/** What a kind of sandbox brings; the rest is the same for all of them. */
export interface BackendDriver {
  name: string;
  /** Finds out what the machine offers, without starting anything of a tenant. */
  prepare(): Promise<{ ok: true; runtime: HostRuntime } | { ok: false; problem: Problem }>;
  note(threadId: string): string;
}

export interface ServiceRunner extends ServiceHost {
  /** Ends them all. */
  close(): Promise<void>;
}

export interface HostRuntime {
  host: Host;
  /** What runs here, by whatever process it was started. */
  running: RunningRegistry;
  spawner: Spawner;
  networkOf(threadId: string, folder: ThreadFolder): ThreadNetwork;
  /** Absent where nothing isolates them. */
  openServices?(floor: DiskFloor): ServiceRunner;
  /** Absent where threads see the host's programs anyway. */
  toolChains?: ToolChains;
  /** Absent where nothing isolates what git reads. */
  openMirrors?(floor: DiskFloor): Mirrors;
  /** Runs the real thing with canaries. */
  probe(deps: SandboxDeps): Promise<Probe>;
}
