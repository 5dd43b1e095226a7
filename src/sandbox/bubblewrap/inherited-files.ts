import { closeSync, readdirSync, readFileSync } from "node:fs";

/** O_CLOEXEC of Linux, as /proc/self/fdinfo shows it. */
const closedByExec = 0o2000000;

/**
 * Closes what this process has got from its parent beside the three usual descriptors and does not know of: programs that
 * it starts would get it too. Node opens nothing for them to inherit, and spares only the first few that it was given.
 */
export function closeInheritedFiles(): void {
  for (const name of readdirSync("/proc/self/fd")) {
    const descriptor = Number(name);
    if (descriptor > 2 && isInherited(name)) closeSync(descriptor);
  }
}

function isInherited(name: string): boolean {
  try {
    const flags = /^flags:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${name}`, "utf8"))?.[1] ?? "";
    return (Number.parseInt(flags, 8) & closedByExec) === 0;
  } catch {
    // The one by which the folder was read.
    return false;
  }
}
