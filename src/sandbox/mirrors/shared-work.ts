/** Work that several wait for, who can leave; with the last of them it ends. */
export interface SharedWork<T> {
  /** Undefined for who has left. */
  wait(signal: AbortSignal | undefined): Promise<T | undefined>;
}

/** @param onEnd is called when it has come to its end, whoever waits */
export function shareWork<T>(work: (signal: AbortSignal) => Promise<T>, onEnd: () => void): SharedWork<T> {
  const aborter = new AbortController();
  const ended = work(aborter.signal).finally(onEnd);
  let waiting = 0;
  return {
    async wait(signal) {
      waiting += 1;
      const left = Promise.withResolvers<undefined>();
      const leave = () => left.resolve(undefined);
      signal?.addEventListener("abort", leave, { once: true });
      try {
        return await Promise.race([ended, left.promise]);
      } finally {
        signal?.removeEventListener("abort", leave);
        waiting -= 1;
        if (waiting === 0) aborter.abort();
      }
    },
  };
}
