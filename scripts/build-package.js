// `npm pack` runs this first: writes the program to dist/ as a bundle, and beside it `heddle/agent` and `heddle/client` as
// JavaScript with types, because Node strips no types in node_modules; and pins the versions of all dependencies.
// `--clean` afterwards takes the pins away again.
import { cp, rm } from "node:fs/promises";
import { join } from "node:path";
import { root } from "./bootstrap/root.js";
import { run } from "./bootstrap/run.js";
import { reporting, SetupFailure } from "./bootstrap/speak.js";

const dist = join(root, "dist");
// What npm publishes of a lockfile; with it whoever installs the package gets the versions that were tested.
const pins = join(root, "npm-shrinkwrap.json");

async function build() {
  // The program first: it replaces what an earlier build left, which would be packed too.
  for (const args of [
    ["scripts/package/build.ts", dist],
    ["node_modules/typescript/bin/tsc", "--project", "tsconfig.library.json"],
  ]) {
    const { code } = await run(process.execPath, args);
    if (code !== 0) throw new SetupFailure("The package was not built. Correct what is listed above.");
  }
  await cp(join(root, "package-lock.json"), pins);
}

await reporting(process.argv[2] === "--clean" ? () => rm(pins, { force: true }) : build);
