import type { ModelError } from "../../agent/model.ts";
import type { ModelFailure } from "../../operations/reports.ts";

/** So many kinds are kept. */
const mostKinds = 5;

/** The model calls of this process that failed lately, for whoever must find out why. */
export interface ModelFailures {
  note(model: string, error: Pick<ModelError, "message" | "detail">): void;
  /** The last ones first, of each model and message the last one. Not masked. */
  list(): ModelFailure[];
}

export function createModelFailures(now: () => number): ModelFailures {
  const kinds = new Map<string, ModelFailure>();
  return {
    note(model, { message, detail }) {
      const kind = JSON.stringify([model, message]);
      const times = (kinds.get(kind)?.times ?? 0) + 1;
      // Last in the order of a map is what was put there last.
      kinds.delete(kind);
      kinds.set(kind, { model, message, detail, at: now(), times });
      const [oldest] = kinds.keys();
      if (kinds.size > mostKinds && oldest !== undefined) kinds.delete(oldest);
    },
    list: () => [...kinds.values()].toReversed(),
  };
}
