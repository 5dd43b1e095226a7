/** Redis has refused a write because its `maxmemory` is reached: nothing of it is stored. */
export class OutOfMemory extends Error {
  override readonly name = "OutOfMemory";

  constructor(cause: unknown) {
    super(outOfMemory, { cause });
  }
}

/** For the operator. */
export const outOfMemory =
  "Redis is out of memory and refuses to store anything: raise its maxmemory or give it a larger host. Turns wait until then.";

/** Whether that is what an error says. Older versions wrap a script's error. */
export function isOutOfMemory(error: unknown): boolean {
  if (error instanceof OutOfMemory) return true;
  return error instanceof Error && findRefused(error).message.includes("OOM command not allowed");
}

/** Why a transaction was discarded, which its own error (`EXECABORT`) does not say; every other error as it is. */
export function findRefused(error: Error): Error {
  const previous: unknown = "previousErrors" in error ? error.previousErrors : undefined;
  const first: unknown = Array.isArray(previous) ? previous[0] : undefined;
  return first instanceof Error ? first : error;
}
