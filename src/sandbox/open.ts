import type { Config } from "../config/load.ts";
import { createBubblewrapBackend } from "./bubblewrap/backend.ts";
import type { SandboxBackend } from "./sandbox.ts";

const mebibyte = 1024 * 1024;

/** The sandbox of this host, with the operator's limits. Its probe tells whether it can be used. */
export function openSandboxBackend({
  dataDir,
  settings,
}: Pick<Config, "dataDir" | "settings">): SandboxBackend {
  const { commandSeconds, memoryMb, processes, fileMb, workspaceMb, jobsPerThread } = settings.sandbox;
  return createBubblewrapBackend({
    dataDir,
    limits: {
      ...(commandSeconds && { commandMs: commandSeconds * 1_000 }),
      ...(memoryMb && { memoryBytes: memoryMb * mebibyte }),
      ...(processes && { processes }),
      ...(fileMb && { fileBytes: fileMb * mebibyte }),
      ...(workspaceMb && { workspaceBytes: workspaceMb * mebibyte }),
      ...(jobsPerThread !== undefined && { jobsPerThread }),
    },
  });
}
