import type { Layout } from "./render.ts";

/** Whether Slack takes task cards from this team: not from every one, and it does not say so before it refuses one. */
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
