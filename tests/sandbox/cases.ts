import { type Case, type TwoThreads, openTwoThreads } from "./two-threads.ts";
import { commandCases } from "./cases/commands.ts";
import { kernelCases } from "./cases/kernel.ts";
import { lifecycleCases } from "./cases/lifecycle.ts";
import { limitCases } from "./cases/limits.ts";
import { networkCases } from "./cases/network.ts";
import { secretCases } from "./cases/secrets.ts";
import { threadCases } from "./cases/threads.ts";

/** Everything that a sandbox promises, numbered so that documents can refer to it. */
export const cases: readonly Case[] = [
  ...secretCases,
  ...networkCases,
  ...kernelCases,
  ...limitCases,
  ...lifecycleCases,
  ...commandCases,
  ...threadCases,
];

/** Runs cases by name, one bot for all of them but for those that need limits of their own. */
export function caseRunner(dataDir: string) {
  let shared: Promise<TwoThreads> | undefined;
  return {
    async run(name: string): Promise<void> {
      const found = cases.find((candidate) => candidate.name === name);
      if (found === undefined) throw new Error(`There is no case ${name}.`);
      if (found.limits === undefined) return found.run(await (shared ??= openTwoThreads(dataDir)));
      const threads = await openTwoThreads(dataDir, found.limits);
      try {
        await found.run(threads);
      } finally {
        await threads.backend.close();
      }
    },
    close: async () => (await shared)?.backend.close(),
  };
}
