import type { ProgramOrigin } from "../running/registry.ts";
import type { Confirmation, ExecEnd, KillReport } from "../sandbox.ts";
import type { HeldFiles } from "./held-files.ts";
import type { ThreadFolder } from "./host.ts";
import type { Program } from "./shell.ts";

export interface LaunchRequest {
  /** Run inside. */
  program: Program;
  /** Absolute, inside. */
  cwd: string;
  /** Fed to the program's standard input, which is empty without it. `open`: it is fed as long as the program runs. */
  stdin?: Uint8Array | "open" | undefined;
  /** Variables of the program that are nobody else's business: they are on no command line. */
  environment?: Readonly<Record<string, string>>;
  /** One pipe for both output streams, which keeps their order; all of it comes as stdout. */
  mergeOutput?: boolean;
  timeoutMs: number;
  /** Bytes of output at which the program is killed. */
  floodBytes: number;
  /** Size that no file may exceed, in bytes. */
  fileBytes: number;
  /** bwrap arguments: what the program sees beside the thread's own folders. */
  view?: readonly string[];
  /**
   * Without it, the program has a network of its own with nothing but a loopback. `hold`: that, and others can
   * join it. A number: joins the network of this process, which holds one. `host`: the machine's.
   */
  network?: "hold" | "host" | number;
  /** Default: the sandbox's own upkeep. */
  origin?: ProgramOrigin;
  onOutput(stream: OutputStream, chunk: Buffer): void;
}

export type OutputStream = "stdout" | "stderr";

export interface Ending {
  end: ExecEnd;
  /** Null unless `end` is `exit`. */
  exitCode: number | null;
  /** For `failed`: what happened and what to do. */
  problem?: string;
  /** For `failed`, where bwrap could not set the sandbox up: its own words. */
  said?: string;
}

/** How limits are held together on this host. */
export interface LimitTier {
  summary: string;
  /** Whether a control group holds them, exactly, or only watching does. */
  exact: boolean;
}

export const upkeep: ProgramOrigin = { kind: "upkeep", text: "" };

/** Why a program was not started. */
export const takenOver = "Another worker has taken this thread over; nothing is started for it here.";

/** A program that was handed to the spawner. */
export interface Launched {
  readonly id: number;
  /** Where its standard input stays open. */
  readonly input?: ProgramInput;
  /** Resolves when no process of it is alive any more. Never rejects. */
  readonly ended: Promise<Ending>;
  /** Kills it; `ended` then has this end, unless it ended by itself before. */
  kill(end: ExecEnd): void;
}

export interface ProgramInput {
  /** Rejects when nobody takes it any more. */
  write(chunk: Uint8Array): Promise<void>;
  close(): void;
}

export interface SpawnRequest extends LaunchRequest {
  signal?: AbortSignal | undefined;
  /** Runs in the network that this one holds. */
  joins?: Launched | undefined;
}

/** Where all sandboxes are started: a process of its own (spawner-process.ts), started again if it should die. */
export interface Spawner {
  /** How limits are held together on this host. Rejects when the process cannot work. */
  tier(): Promise<LimitTier>;
  launch(folder: ThreadFolder, request: SpawnRequest): Launched;
  /** The thread, by the key of its folder, is still this worker's. What runs on without such a word is ended in time. */
  confirm(thread: string, confirmation: Confirmation): void;
  /** What the thread's programs hold of its disk though it is deleted. Rejects when the process dies meanwhile. */
  findHeld(folder: ThreadFolder): Promise<HeldFiles>;
  /** Kills these and looks for what is left of them. Rejects when the process dies meanwhile: nothing is proven. */
  proveDead(launches: readonly Launched[]): Promise<KillReport>;
  /** Ends the process and whatever it runs. */
  close(): Promise<void>;
}
