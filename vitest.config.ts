import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

/** Files that start the whole program, many processes or a browser; each gets a fresh worker. */
const isolated = ["tests/{browser,e2e,faults,sandbox,scripts}/**/*.test.ts"];

export default defineConfig({
  test: {
    reporters: ["default", "./tests/reporter.ts"],
    env: { NODE_ENV: "test" },
    // More than vitest would take on a small machine: many tests wait for a process or a timer.
    maxWorkers: Math.max(4, availableParallelism()),
    // Long enough for a slow disk and a machine under load; it only ends what hangs.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 15_000 } },
    // A shared machine may hold up any process for seconds. What passes only at a second try is named at the end.
    retry: process.env["CI"] ? 1 : 0,
    projects: [
      {
        extends: true,
        // Shared workers: importing the same modules again for every file would take most of the time.
        test: { name: "unit", include: ["tests/**/*.test.ts"], exclude: isolated, isolate: false },
      },
      {
        extends: true,
        test: { name: "integration", include: isolated, isolate: true },
      },
    ],
  },
});
