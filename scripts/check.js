// `npm run check`: types, lint rules, format and unused code, with the Node that the program runs with.
import { prepare } from "./bootstrap/prepare.js";
import { run } from "./bootstrap/run.js";
import { reporting, SetupFailure } from "./bootstrap/speak.js";

const checks = [
  ["types", "typescript/bin/tsc", "--noEmit"],
  ["types of the console's page", "typescript/bin/tsc", "--project", "src/adapters/console/page"],
  ["types of scripts", "typescript/bin/tsc", "--noEmit", "--project", "scripts"],
  [
    "types of what tests run in a page",
    "typescript/bin/tsc",
    "--noEmit",
    "--project",
    "tests/browser/in-page",
  ],
  ["lint rules", "oxlint/bin/oxlint", "--type-aware", "--deny-warnings"],
  ["format", "@biomejs/biome/bin/biome", "format", "."],
  ["unused code", "knip/bin/knip.js"],
];

await reporting(async () => {
  const node = await prepare({ development: true, sandbox: false });
  const failed = [];
  for (const [name, program, ...args] of checks) {
    const { code } = await run(node, [`node_modules/${program}`, ...args]);
    if (code !== 0) failed.push(name);
  }
  if (failed.length > 0) {
    throw new SetupFailure(
      `The check failed for: ${failed.join(", ")}. Correct what is listed above (npm run format corrects the format).`,
    );
  }
});
