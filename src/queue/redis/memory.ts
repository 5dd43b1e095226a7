/** For the operator. */
export const outOfMemory =
  "Redis is out of memory and refuses to store anything: raise its maxmemory or give it a larger host. Turns wait until then.";

/** Whether Redis has refused a write because `maxmemory` is reached. Older versions wrap a script's error. */
export function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && error.message.includes("OOM command not allowed");
}
