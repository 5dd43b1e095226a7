import type { ShownTurn, TurnDisplay } from "../../src/queue/turns/contracts.ts";

/** A display that shows nothing, for what looks on. */
export const noDisplay: TurnDisplay = {
  took: () => undefined,
  event: () => undefined,
  question: () => ({ kind: "question", markdown: "" }),
  interrupted: async () => undefined,
  settled: () => ({ kind: "question", markdown: "" }),
  continued: () => ({ kind: "notice", markdown: "" }),
  waiting: () => ({}),
  closing: () => ({}),
  close: async () => false,
  ended: () => undefined,
};

export const newTurn: ShownTurn = { id: "t1", startedAt: 1, resumed: false, progress: undefined, calls: [] };
