import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

/** Files that start the whole program, many processes or a browser; each gets a fresh worker. */
const isolated = ["tests/{browser,e2e,faults,sandbox,scripts}/**/*.test.ts"];

/**
 * Start the whole program many times over, or wait for clocks. `npm test` leaves them to `npm run test:whole`, which CI
 * runs; what they hold in full, the scenario, the stops and the property tests hold in part.
 */
const long = [
  "tests/browser/{axe,axe-states,calls,connect,console,hostile-text,needs,operations,place,scale,sharing,streams,tabs,timeline,viewer}.test.ts",
  "tests/e2e/{accounts,administration,closing,connect,console,console-difference,console-picture}.test.ts",
  "tests/e2e/{console-token,deployed,discord,discord-places,embedded,github-app,health,mcp,models}.test.ts",
  "tests/e2e/{needs,plain-git,plan,previews,proxy,pull-request,questions,redis,review,rules}.test.ts",
  "tests/e2e/{schedules,search-keys,sign-in,silence,slack,start-reactions,telemetry,tenants}.test.ts",
  "tests/e2e/{thread-life,true-states,web-search,workspaces}.test.ts",
  "tests/e2e/commands/{doctor,mcp,other-commands,run,setup,without-redis}.test.ts",
  "tests/faults/{embedded,embedded-memory,failover,handover,points,replicas,restart-discord,storm}.test.ts",
  "tests/queue/{redis/primaries,redis/replicated,undo/fork,undo/killed-undo,undo/undo}.test.ts",
  "tests/sandbox/{checkpoints,disk,egress/registries,files,host,odd-files,ordinary-user,own-user,workspace-lifecycle,workspaces}.test.ts",
  "tests/scripts/{bootstrap,mutate,reporter}.test.ts",
  "tests/repositories/{forged-objects,mirrors,ready-clones,repositories,set-ups,troubled-hosts}.test.ts",
  // Fetches Helm.
  "tests/deploy/chart.test.ts",
  "tests/{adapters/console/server/connections,agent/example,agent/mcp/conformance,agent/mcp/stdio-servers,queue/turns/background-jobs}.test.ts",
];
const left = process.env["HEDDLE_TESTS"] === "bounded" ? long : [];

export default defineConfig({
  test: {
    reporters: ["default", "./tests/reporter.ts"],
    globalSetup: "./tests/agent/mcp/open-repository.ts",
    env: { NODE_ENV: "test" },
    // As Node has it: the default of a CommonJS module is all that it exports.
    deps: { interopDefault: false },
    // More than vitest would take on a small machine: many tests wait for a process or a timer.
    maxWorkers: Math.max(4, availableParallelism()),
    // Long enough for a slow disk and a machine under load; it only ends what hangs.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000 } },
    // A shared machine may hold up any process for seconds. What passes only at a second try is named at the end.
    retry: process.env["CI"] ? 1 : 0,
    projects: [
      {
        extends: true,
        // Shared workers: importing the same modules again for every file would take most of the time.
        test: {
          name: "unit",
          include: ["tests/**/*.test.ts"],
          exclude: [...isolated, ...left],
          isolate: false,
        },
      },
      {
        extends: true,
        test: { name: "integration", include: isolated, exclude: left, isolate: true },
      },
    ],
  },
});
