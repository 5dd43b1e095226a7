import { readFileSync, readlinkSync } from "node:fs";

/**
 * Where numbers of processes mean the same: one start of one machine, and one PID namespace of it, so that two containers
 * that share a folder are told apart. Undefined where there is no /proc.
 */
export function readHostIdentity(): string | undefined {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    return `${boot} ${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    return undefined;
  }
}
