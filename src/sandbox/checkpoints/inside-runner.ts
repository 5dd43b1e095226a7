import { statfs } from "node:fs/promises";
import type { CheckpointLimits } from "../checkpoints.ts";
import { workspaceRoot } from "../sandbox.ts";
import { unusablePath } from "../thread/files.ts";
import type { Host, ThreadFolder } from "../thread/host.ts";
import { collectOutput } from "../thread/output.ts";
import { type Program, shellCommand } from "../thread/shell.ts";
import type { Spawner } from "../thread/spawner.ts";
import { type Entry, listScript, parseListing } from "./listing.ts";

/** A turn waits for its checkpoint before its first write. */
export const keepMs = 30_000;
export const mostFiles = 200_000;
/** A path, its target and what describes it. */
export const bytesPerFile = 1_024;

/** Where the programs find the content. */
export const packInside = "/checkpoint.pack";
/** Arguments: a program for Node, and what it gets. */
export const nodeScript = 'exec node --input-type=module --eval "$1" "$2"';

/** Runs what keeps files, and makes them, in the sandbox of their thread. */
export interface InsideRunner {
  /** What the program prints. @throws with why it has failed */
  run(
    folder: ThreadFolder,
    request: {
      program: Program;
      timeoutMs: number;
      stdin?: Buffer;
      view?: string[];
      mostBytes: number;
      signal?: AbortSignal | undefined;
    },
  ): Promise<Buffer>;
  list(folder: ThreadFolder, signal?: AbortSignal): Promise<Entry[]>;
  /** @throws where the host would have less room left than it keeps for itself */
  assertRoom(bytes: number): Promise<void>;
}

export function createInsideRunner({
  host,
  spawner,
  limits,
}: {
  host: Host;
  spawner: Spawner;
  limits: CheckpointLimits;
}): InsideRunner {
  const run: InsideRunner["run"] = async (folder, request) => {
    const { mostBytes, ...rest } = request;
    const output = collectOutput(mostBytes);
    const { end, exitCode, problem } = await spawner.launch(folder, {
      ...rest,
      cwd: workspaceRoot,
      floodBytes: mostBytes,
      fileBytes: Math.max(limits.bytes, host.limits.workspaceBytes),
      onOutput: output.take,
    }).ended;
    const { stdout, stderr } = output.result();
    if (end === "exit" && exitCode === 0) return stdout;
    if (end === "stopped") throw new Error("it was stopped");
    if (end === "timeout") throw new Error(`it took longer than ${request.timeoutMs / 1_000} s`);
    const said = stderr.toString().trim().split("\n").at(-1)?.slice(0, 200);
    throw new Error(problem ?? (said || `it ended by ${end} ${exitCode ?? ""}`));
  };
  return {
    run,
    async list(folder, signal) {
      const program = shellCommand(listScript, [`./${unusablePath}`]);
      const mostBytes = mostFiles * bytesPerFile;
      return parseListing(await run(folder, { program, timeoutMs: keepMs, mostBytes, signal }));
    },
    async assertRoom(bytes) {
      const { bavail, bsize } = await statfs(host.root);
      if (bavail * bsize - bytes < host.limits.freeBytes)
        throw new Error("the disk of this host is nearly full");
    },
  };
}
