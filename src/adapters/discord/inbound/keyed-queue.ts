/** Work that is done one after the other in each line, and side by side in different lines. */
export interface KeyedQueue {
  /** @param line undefined: waits for nobody */
  add(line: string | undefined, work: () => Promise<void>): void;
  /** Takes no more. */
  close(): void;
  /** Resolves when all that was added is done. */
  done(): Promise<void>;
}

/** @remarks `work` must not reject. */
export function createKeyedQueue(): KeyedQueue {
  const last = new Map<string | symbol, Promise<void>>();
  let isClosed = false;
  return {
    add(line, work) {
      if (isClosed) return;
      const key = line ?? Symbol("apart");
      const done = (last.get(key) ?? Promise.resolve()).then(work);
      last.set(key, done);
      void done.then(() => {
        if (last.get(key) === done) last.delete(key);
      });
    },
    close() {
      isClosed = true;
    },
    async done() {
      await Promise.all(last.values());
    },
  };
}
