import type { Layout } from "./render.ts";

/** Whether this workspace takes task cards: not every one does, and Slack does not tell before it refuses one. */
export interface CardSupport {
  readonly areSupported: boolean;
  /** To be called with a layout that Slack refused. */
  onRefused(layout: Layout): void;
}

export function createCardSupport(): CardSupport {
  let areSupported = true;
  return {
    get areSupported() {
      return areSupported;
    },
    onRefused(layout) {
      if (layout.hasCards) areSupported = false;
    },
  };
}
