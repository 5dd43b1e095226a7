/** Runs work with the same key one after the other, and work with different keys concurrently. */
export interface KeyedQueue {
  /** @param key undefined: waits for nothing. @param work must not reject */
  add(key: string | undefined, work: () => Promise<void>): void;
  /** Accepts no more work. */
  close(): void;
  /** Resolves when everything that was added is done. */
  done(): Promise<void>;
}

export function createKeyedQueue(): KeyedQueue {
  const last = new Map<string | symbol, Promise<void>>();
  let isClosed = false;
  return {
    add(key, work) {
      if (isClosed) return;
      const id = key ?? Symbol("apart");
      const done = (last.get(id) ?? Promise.resolve()).then(work);
      last.set(id, done);
      void done.then(() => {
        if (last.get(id) === done) last.delete(id);
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
