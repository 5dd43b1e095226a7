import type { SandboxLimits } from "../limits.ts";
import type { FenceTimes } from "../running/fence.ts";
import type { Confirmation, ExecEnd, KillReport } from "../sandbox.ts";
import type { HeldFiles } from "../thread/held-files.ts";
import type { ThreadFolder } from "../thread/host.ts";
import type { Ending, LaunchRequest, LimitTier, OutputStream } from "../thread/spawner.ts";

/** What the spawner must know to launch anything. */
export interface SpawnerSettings {
  limits: SandboxLimits;
  /** bwrap arguments that show the system's programs, read-only. */
  systemMounts: readonly string[];
  /** The folder in which it notes what runs. */
  running: string;
  /** The name of its back end. */
  backend: string;
  fence: FenceTimes;
}

/** The first message is `prepare`. */
export type ToSpawner =
  | { type: "prepare"; settings: SpawnerSettings }
  | {
      type: "launch";
      id: number;
      folder: ThreadFolder;
      request: Omit<LaunchRequest, "onOutput">;
      /** The launch whose network it joins. */
      joins?: number;
    }
  /** Without a chunk: the end of its input. */
  | { type: "input"; id: number; chunk?: Uint8Array }
  | { type: "confirm"; thread: string; confirmation: Confirmation }
  | { type: "kill"; id: number; end: ExecEnd }
  | { type: "find-held"; call: number; folder: ThreadFolder }
  | { type: "prove-dead"; call: number; ids: number[] };

export type FromSpawner =
  | { type: "ready"; tier: LimitTier }
  | { type: "output"; id: number; stream: OutputStream; chunk: Uint8Array }
  | { type: "ended"; id: number; ending: Ending }
  | { type: "dead"; call: number; report: KillReport }
  | { type: "held"; call: number; held: HeldFiles }
  | { type: "log"; line: string };
