import type { ShownTurn, TurnDisplay } from "../../src/queue/drive.ts";

/** A display that shows nothing, for what looks on. */
export const noDisplay: TurnDisplay = {
  took: () => undefined,
  event: () => undefined,
  question: () => ({ kind: "question", markdown: "" }),
  settled: () => ({ kind: "question", markdown: "" }),
  waiting: () => ({}),
  closing: () => ({}),
  close: async () => undefined,
  ended: () => undefined,
};

export const newTurn: ShownTurn = { id: "t1", startedAt: 1, resumed: false, progress: undefined, calls: [] };
