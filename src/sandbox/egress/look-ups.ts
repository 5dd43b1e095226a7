/** Rejects where the name has no address, or none in time. */
export type LookUp = (host: string) => Promise<string[]>;

export interface LookUpLimits {
  /** How long a thread waits for the addresses of a name, ms. */
  withinMs: number;
  /** Names that one thread waits for. */
  mostNames: number;
}

/** Longer than resolvers take whose first server is silent (resolv.conf(5): three, twice 5 s each). */
const defaultLimits: LookUpLimits = { withinMs: 30_000, mostNames: 32 };

/**
 * Looks names up for threads, one at a time in all, each thread in its turn. A look-up occupies a thread of Node's pool
 * for as long as the servers of the name are silent, and no more than two of these four may do so; the second is left for
 * names of Heddle's own, those of chat platforms and models. A thread that asks for a name again shares the answer.
 *
 * Source: https://nodejs.org/api/dns.html#implementation-considerations and `slow_work_thread_threshold` in
 * https://github.com/libuv/libuv/blob/v1.x/src/threadpool.c
 */
export function createLookUps(
  lookUp: LookUp,
  { withinMs, mostNames }: LookUpLimits = defaultLimits,
): (host: string, thread: string) => Promise<string[]> {
  /** By thread, the one whose turn it is first; of each, the names in the order in which it has asked for them. */
  const waiting = new Map<string, Map<string, PromiseWithResolvers<string[]>>>();
  let isWorking = false;

  async function work(): Promise<void> {
    isWorking = true;
    for (const [thread, names] of waiting) {
      const [next] = names;
      if (next) {
        const [host, found] = next;
        await lookUp(host).then(found.resolve, found.reject);
        if (names.get(host) === found) names.delete(host);
      }
      // Who is put in again comes behind the others.
      waiting.delete(thread);
      if (names.size > 0) waiting.set(thread, names);
    }
    isWorking = false;
  }

  return (host, thread) => {
    const names = waiting.get(thread) ?? new Map<string, PromiseWithResolvers<string[]>>();
    const asked = names.get(host);
    if (asked) return asked.promise;
    if (names.size >= mostNames) return Promise.reject(new Error("The thread waits for too many names."));
    const found = Promise.withResolvers<string[]>();
    const late = setTimeout(() => {
      if (names.get(host) === found) names.delete(host);
      found.reject(new Error(`${host} was not found within ${withinMs} ms.`));
    }, withinMs).unref();
    const stop = () => clearTimeout(late);
    found.promise.then(stop, stop);
    waiting.set(thread, names.set(host, found));
    if (!isWorking) void work();
    return found.promise;
  };
}
