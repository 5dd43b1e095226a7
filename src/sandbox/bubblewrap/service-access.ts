import { realpathSync, statSync } from "node:fs";
import { dirname, isAbsolute } from "node:path";
import { isSeen, isWithin, type ServiceRequest } from "../service.ts";
import { isReachableByAll, type Owner } from "../thread/host.ts";

/** What no service may be given. */
export interface ClosedPaths {
  /** With everything in them: other threads' files, what runs, and an embedded Redis. */
  folders: readonly string[];
  files: readonly string[];
}

/** These of the machine would show the bot's own environment and descriptors, or its devices. */
const kernelFolders = ["/proc", "/sys", "/dev"];

/** Why the request cannot be granted, as a clause; undefined where it can. */
export function findObstacle(
  request: ServiceRequest,
  closed: ClosedPaths,
  owner: Owner | undefined,
): string | undefined {
  const { access, command, args, cwd, env } = request;
  if (`${command}${args.join("")}${cwd}${Object.entries(env).join("")}`.includes("\0")) {
    return "its command or environment contains a NUL character";
  }
  const [wanted, writable] = [[...access.read, ...access.write], new Set(access.write)];
  for (const path of wanted) {
    const obstacle =
      findExposure(path, closed) ??
      (owner && findForbidden(path, owner, writable.has(path) ? 0o7 : 0o5)) ??
      (!writable.has(path) && access.write.some((folder) => isWithin(path, folder))
        ? `${path} of its "read" lies in a folder of its "write"; leave it out`
        : undefined);
    if (obstacle) return obstacle;
  }
  if (cwd !== undefined && !(isAbsolute(cwd) && isSeen(cwd, access))) {
    return `its sandbox does not have its cwd ${cwd}; add "read": [${JSON.stringify(cwd)}] to "sandbox" of its entry, or "write" if it writes there`;
  }
  return undefined;
}

/** What must not be shown with this path. */
export function findExposure(path: string, { folders, files }: ClosedPaths): string | undefined {
  const real = resolveReal(path);
  if (real === undefined) return `${path} of its sandbox does not exist`;
  if (real === "/" || kernelFolders.some((folder) => isWithin(real, folder))) {
    return `${path} of its sandbox would show it the whole machine; name the folders that it needs`;
  }
  const exposed = [
    ...folders.filter((folder) => isWithin(real, resolveReal(folder) ?? folder)),
    ...[...folders, ...files].filter((kept) => isWithin(resolveReal(kept) ?? kept, real)),
  ][0];
  return exposed === undefined
    ? undefined
    : `${path} of its sandbox would show it ${exposed}, which is Heddle's own; name other folders, or only those in it that it needs`;
}

/** Services of a root bot run as users of their own, who can do only what everybody can. */
function findForbidden(path: string, { uid }: Owner, bits: number): string | undefined {
  const { mode, uid: owner, isDirectory } = readStatus(path);
  const needed = isDirectory ? bits : bits & 0o6;
  const granted = owner === uid ? mode >> 6 : mode;
  if ((granted & needed) === needed && isReachableByAll(dirname(path))) return undefined;
  const verb = bits === 0o7 ? "write" : "read";
  const fix = verb === "write" ? `chown -R ${uid} ${path}` : `chmod -R o+rX ${path}`;
  return `Heddle runs as root and this server as user ${uid}, who cannot ${verb} ${path}: ${fix}, and let everybody pass the folders above it`;
}

function readStatus(path: string) {
  const status = statSync(path);
  return { mode: status.mode, uid: status.uid, isDirectory: status.isDirectory() };
}

function resolveReal(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}
