import { readFileSync } from "node:fs";
import type { Redis } from "ioredis";
import { listDescendants } from "../../src/sandbox/thread/processes.ts";

/** Clock ticks of the kernel in a second, as /proc counts; 100 on every Linux that Node runs on. */
const ticksPerSecond = 100;

/** Processor seconds that a process and all that it has started have used so far. Those of ended children are in it. */
export function processorSeconds(pid: number): number {
  const pids = [pid, ...listDescendants(pid).map((child) => child.pid)];
  return pids.reduce((sum, each) => sum + ticksOf(each), 0) / ticksPerSecond;
}

/** Own time in user and kernel mode, and that of children which were waited for (proc(5), fields 14 to 17). */
function ticksOf(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
    return fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  } catch {
    // It has ended meanwhile.
    return 0;
  }
}

/** What a Redis says of itself. */
export interface RedisCosts {
  /** That it has run, those inside scripts included. */
  commands: number;
  bytes: number;
  processorSeconds: number;
  keys: number;
}

export async function readRedisCosts(redis: Redis): Promise<RedisCosts> {
  const info = await redis.info("everything");
  const field = (name: string) => Number(new RegExp(`^${name}:([\\d.]+)`, "m").exec(info)?.[1] ?? 0);
  return {
    commands: field("total_commands_processed"),
    bytes: field("used_memory"),
    processorSeconds: field("used_cpu_user") + field("used_cpu_sys"),
    keys: await redis.dbsize(),
  };
}
