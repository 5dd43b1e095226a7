// `npm pack` runs this first: writes `heddle/agent` to dist/, as JavaScript with types, because Node strips no types in node_modules.
import { cp, rm } from "node:fs/promises";
import { join } from "node:path";
import { root } from "./bootstrap/root.js";
import { run } from "./bootstrap/run.js";
import { reporting, SetupFailure } from "./bootstrap/speak.js";

await reporting(async () => {
  // What an earlier build left would be packed too.
  await rm(join(root, "dist"), { recursive: true, force: true });
  const { code } = await run(process.execPath, [
    "node_modules/typescript/bin/tsc",
    "--project",
    "tsconfig.library.json",
  ]);
  if (code !== 0) throw new SetupFailure("The library was not built. Correct what is listed above.");
  const scripts = "agent/llm/demo/scripts";
  await cp(join(root, "src", scripts), join(root, "dist", scripts), { recursive: true });
});
