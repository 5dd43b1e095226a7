import { createLearntWindows, type LearntWindows } from "../../agent/context/learnt-windows.ts";
import type { LearntWindow } from "../../agent/contracts/learnt-window.ts";
import type { LearntWindowStore } from "../../queue/stores/learnt-windows.ts";

/** What is known to other processes is asked for at most so often, ms. */
const refreshMs = 30_000;

/** What all workers have learnt of their models' windows; see `LearntWindows`. */
export interface SharedWindows {
  learnt: LearntWindows;
  /** To be called before a turn. Never fails: without Redis this process goes by what it knows itself. */
  refresh(): Promise<void>;
}

interface SharedWindowsOptions {
  now(): number;
  onProblem(problem: string, error: unknown): void;
}

/**
 * Shares what is learnt with the workers beside this one and with those to come. A refusal counts for a day, and until a
 * larger request is taken.
 */
export function shareLearntWindows(
  store: LearntWindowStore,
  { now, onProblem }: SharedWindowsOptions,
): SharedWindows {
  /** What the store has not confirmed. */
  const unwritten = new Map<string, LearntWindow | undefined>();
  let refreshedAt = -Infinity;
  let writing = Promise.resolve();

  const write = async (): Promise<void> => {
    for (const [model, known] of [...unwritten]) {
      await store.write(model, known);
      // Unless it has changed meanwhile.
      if (unwritten.get(model) === known) unwritten.delete(model);
    }
  };
  const writeNext = (): Promise<void> => {
    writing = writing
      .then(write)
      .catch((error: unknown) => onProblem("what was learnt of a model's window could not be kept", error));
    return writing;
  };

  const learnt = createLearntWindows({
    now,
    onChange(model, known) {
      unwritten.set(model, known);
      void writeNext();
    },
  });

  return {
    learnt,
    async refresh() {
      if (now() - refreshedAt < refreshMs) return;
      refreshedAt = now();
      try {
        await writeNext();
        const known = await store.read();
        for (const [model, one] of unwritten)
          if (one) known.set(model, one);
          else known.delete(model);
        learnt.replace(known);
      } catch (error) {
        onProblem("what was learnt of models' windows could not be read", error);
      }
    },
  };
}
