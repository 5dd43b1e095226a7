import type { SandboxLimits } from "../limits.ts";
import type { RunningRegistry } from "../running/registry.ts";
import type { ResourceGroups } from "./limits/resource-group.ts";
import type { OutputPipe } from "./pipes.ts";

/** What this process launches with. */
export interface LaunchSite {
  limits: SandboxLimits;
  systemMounts: readonly string[];
  groups: ResourceGroups;
  running: RunningRegistry;
  /** The system call filter. */
  filter: Uint8Array;
  newPipe(): OutputPipe;
  log(line: string): void;
}
