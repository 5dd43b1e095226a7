import type { TestContext } from "vitest";

declare module "vitest" {
  interface TaskMeta {
    /** How many attacks a test tries; without it, it is one. `npm run test:security` adds them up. */
    attacks?: number;
  }
}

/** Says how many attacks this test tries. */
export function countAttacks({ task }: TestContext, attacks: number): void {
  task.meta.attacks = attacks;
}
