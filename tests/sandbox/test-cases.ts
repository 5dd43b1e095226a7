import { existsSync } from "node:fs";
import { test } from "vitest";
import { cases } from "./cases.ts";

/** One test for each case. */
export function testCases(run: (name: string) => Promise<void>): void {
  for (const { name, needs = [] } of cases) {
    test(name, async (context) => {
      const missing = needs.find((program) => !existsSync(program));
      if (missing !== undefined) context.skip(`${missing} is not installed`);
      await run(name);
    });
  }
}
