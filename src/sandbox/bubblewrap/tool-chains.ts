import { existsSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Problem } from "../sandbox.ts";
import { isWithin } from "../service.ts";
import { isReachableByAll } from "../thread/host.ts";
import type { ToolChains, ToolChainSettings } from "../thread/tool-chains.ts";
import { searchPath } from "./node.ts";
import { type ClosedPaths, findExposure } from "./service-access.ts";

/** The sandbox has something else there. */
const taken = [
  "/.cargo",
  "/dev",
  "/etc",
  "/mirror",
  "/opt/heddle",
  "/own",
  "/proc",
  "/run",
  "/skills",
  "/sys",
  "/tmp",
  "/workspace",
];

/** @param ownUsers whether threads run as users of their own, who reach only what everybody can */
export function createToolChains(
  { folders, of }: ToolChainSettings,
  { closed, ownUsers }: { closed: ClosedPaths; ownUsers: boolean },
): ToolChains {
  const faults = new Map<string, Problem>();
  const sound = new Map<string, string>();
  for (const [name, folder] of Object.entries(folders)) {
    const fault = findFault(folder, closed, ownUsers);
    if (fault)
      faults.set(name, { ...fault, what: `The tool chain ${name} is not shown to threads: ${fault.what}.` });
    else sound.set(name, resolve(folder));
  }
  const foldersOf = (threadId: string) =>
    of(threadId).flatMap((name) => {
      const folder = sound.get(name);
      return folder === undefined ? [] : [{ name, folder }];
    });
  return {
    problems: () => [...faults.values()],
    viewOf(threadId) {
      const own = foldersOf(threadId);
      if (own.length === 0) return [];
      const path = [...own.map(({ folder }) => programsOf(folder)), searchPath].join(":");
      return [
        // What an upgrade has removed meanwhile must not keep commands from running.
        ...own.flatMap(({ folder }) => ["--ro-bind-try", folder, folder]),
        ...["--setenv", "PATH", path],
      ];
    },
    note(threadId) {
      const own = foldersOf(threadId).map(({ name, folder }) => `${name} (${folder})`);
      return own.length === 0 ? "" : `These tool chains are on PATH: ${own.join(", ")}.`;
    },
  };
}

/** Most have their programs in `bin`. */
function programsOf(folder: string): string {
  return existsSync(join(folder, "bin")) ? join(folder, "bin") : folder;
}

function findFault(folder: string, closed: ClosedPaths, ownUsers: boolean): Problem | undefined {
  const status = statSync(folder, { throwIfNoEntry: false });
  if (!status?.isDirectory()) {
    return { what: `there is no folder ${folder}`, fix: "Install it, or correct sandbox.toolChains." };
  }
  const exposure = findExposure(folder, closed);
  if (exposure !== undefined) {
    return { what: exposure.replace("of its sandbox ", ""), fix: "Name the folder of the tool chain alone." };
  }
  if (taken.some((path) => isWithin(resolve(folder), path))) {
    return {
      what: `sandboxes have something else at ${folder}`,
      fix: "Put it elsewhere, for example below /opt.",
    };
  }
  if (ownUsers && !((status.mode & 0o005) === 0o005 && isReachableByAll(folder))) {
    return {
      what: `Heddle runs as root and its threads as users who cannot enter ${folder}`,
      fix: `Let everybody enter it and the folders above it, and read it: \`chmod -R o+rX ${folder}\`.`,
    };
  }
  return undefined;
}
