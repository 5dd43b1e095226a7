import { type Case, type Ground, openGround } from "./backends.ts";
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
  let shared: Promise<Ground> | undefined;
  return {
    async run(name: string): Promise<void> {
      const found = cases.find((candidate) => candidate.name === name);
      if (found === undefined) throw new Error(`There is no case ${name}.`);
      if (found.limits === undefined) return found.run(await (shared ??= openGround(dataDir)));
      const ground = await openGround(dataDir, found.limits);
      try {
        await found.run(ground);
      } finally {
        await ground.backend.close();
      }
    },
    close: async () => (await shared)?.backend.close(),
  };
}
