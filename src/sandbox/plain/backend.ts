import { randomBytes } from "node:crypto";
import { realpathSync } from "node:fs";
import { resolve } from "node:path";
import { defaultLimits } from "../limits.ts";
import type { Probe, Problem, SandboxBackend } from "../sandbox.ts";
import { type BackendOptions, createBackend, type HostRuntime } from "../thread/backend.ts";
import { createThreadFolders, makeRoot } from "../thread/host.ts";
import { createThreadSandbox, type SandboxDeps } from "../thread/thread-sandbox.ts";
import { seatbeltProfile } from "./seatbelt.ts";
import { createPlainSpawner } from "./spawner.ts";

const noSandbox =
  "NO SANDBOX: commands run as the user that runs Heddle, with all its files, the network and no limits but time, output and disk";
const relativePaths =
  "Commands start in the workspace; write paths relative to it, because /workspace and /skills do not exist for commands.";

/** No isolation at all, for one person on a machine of no value. */
export function createUnconfinedBackend(options: BackendOptions): SandboxBackend {
  return createBackend(
    {
      name: "none",
      prepare: () => ({
        ok: true,
        runtime: machineOf(options, {
          summary: noSandbox,
          wrap: (_folder, program) => program,
          warning: {
            what: `${noSandbox}.`,
            fix: "Remove sandbox.backend from heddle.yaml to isolate them.",
          },
        }),
      }),
      note: () =>
        `There is no sandbox: your commands can reach every file of the person who runs you, and the network. Ask that person before anything that reaches outside the workspace. ${relativePaths}`,
    },
    options,
  );
}

/** The system's own sandbox of macOS, for development: weaker than bubblewrap's. */
export function createSeatbeltBackend(options: BackendOptions): SandboxBackend {
  const summary =
    "macOS sandbox-exec, for development only: one user and one process table for all threads, no limits but time, output and disk";
  return createBackend(
    {
      name: "seatbelt",
      prepare() {
        if (options.requiresGroups) {
          const what = "sandbox.require in heddle.yaml asks for a control group, and macOS has none.";
          return { ok: false, problem: { what, fix: "Run Heddle on Linux, or set sandbox.require to any." } };
        }
        return {
          ok: true,
          runtime: machineOf(options, {
            summary,
            wrap: ({ path }, program) => {
              const shown = (options.readOnly?.() ?? []).map(({ source }) => source);
              const readable = [process.execPath, ...shown].map((source) => realpathSync(source));
              const profile = seatbeltProfile(realpathSync(path), readable);
              return ["/usr/bin/sandbox-exec", "-p", profile, ...program];
            },
            warning: {
              what: `The sandbox of macOS is weaker than that of Linux: ${summary}.`,
              fix: "Use Linux for anything but development.",
            },
          }),
        };
      },
      note: () => relativePaths,
    },
    options,
  );
}

function machineOf(
  { dataDir, limits }: BackendOptions,
  way: { summary: string; wrap: Parameters<typeof createPlainSpawner>[1]; warning: Problem },
): HostRuntime {
  const root = resolve(dataDir);
  makeRoot(root);
  return {
    host: {
      limits: { ...defaultLimits, ...limits },
      version: "",
      root,
      relocated: false,
      ownUsers: false,
      requiresGroups: false,
      systemMounts: [],
      ...createThreadFolders(root),
    },
    spawner: createPlainSpawner(way.summary, way.wrap),
    // All of them have the host's.
    networkOf: () => ({ current: () => undefined, open: async () => undefined, close: async () => {} }),
    probe: (deps) => probe(deps, way),
  };
}

async function probe(deps: SandboxDeps, way: { summary: string; warning: Problem }): Promise<Probe> {
  const sandbox = createThreadSandbox(deps, "probe", deps.host.folderOf("probe"));
  const name = `canary-${randomBytes(6).toString("hex")}`;
  const written = await sandbox.writeFile(name, Buffer.from(name));
  const listed = await sandbox.listFiles();
  const removed = await sandbox.exec({ command: `rm ${name}` });
  await sandbox.close();
  if (written.ok && listed.ok && removed.exitCode === 0) {
    return { ok: true, summary: way.summary, problems: [way.warning], missing: [] };
  }
  const said = [written, listed].map((result) => (result.ok ? "" : result.message)).find(Boolean);
  const what = `Commands and files do not work: ${said ?? removed.problem ?? removed.stderr.toString().trim()}.`;
  const fix =
    "Install GNU coreutils and findutils and put them first in PATH (on macOS: `brew install coreutils findutils`).";
  return { ok: false, summary: `${way.summary}: not usable`, problems: [{ what, fix }], missing: [] };
}
