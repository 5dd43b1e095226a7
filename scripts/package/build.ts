/** `node scripts/package/build.ts <folder>`: builds the program there. It needs all packages, and nothing else of a clone. */
import { resolve } from "node:path";
import { buildProgram } from "./program.ts";

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error("Say into which folder: node scripts/package/build.ts dist");
await buildProgram(resolve(folder));
