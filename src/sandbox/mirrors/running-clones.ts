/** How many threads of this process are cloning: they share the cores and the disk with what is done in the background. */
export interface RunningClones {
  /** A thread begins to make the files of a clone. To be called when it has ended, once. */
  begin(): () => void;
  /** Resolves when none does, or when nobody should wait any longer. */
  quiet(signal: AbortSignal): Promise<void>;
}

/** @param patienceMs on a machine where one thread after another clones it is never quiet */
export function createRunningClones(patienceMs: number): RunningClones {
  let running = 0;
  const waiting = new Set<() => void>();
  return {
    begin() {
      running += 1;
      return () => {
        running -= 1;
        if (running === 0) for (const go of waiting) go();
      };
    },
    async quiet(signal) {
      if (running === 0 || signal.aborted) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      const go = () => resolve();
      const timer = setTimeout(go, patienceMs);
      signal.addEventListener("abort", go, { once: true });
      waiting.add(go);
      await promise;
      waiting.delete(go);
      clearTimeout(timer);
      signal.removeEventListener("abort", go);
    },
  };
}
