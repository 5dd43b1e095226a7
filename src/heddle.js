#!/usr/bin/env node
// @ts-check
// The program for those who start it themselves: `node src/heddle.js start`. An older Node cannot read TypeScript and
// would only say so; this file is for every Node that there is, and says which one is needed.
import module from "node:module";

// Not imported: for whatever an ESM imports of Node's own, Node asks for each of its parts and loads it.
const require = module.createRequire(import.meta.url);
const { engines } = require("../package.json");
const oldest = engines.node.replace(">=", "");
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
const [oldestMajor = 0, oldestMinor = 0] = oldest.split(".").map(Number);

if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) {
  keepCompiled();
  await import("./main.ts");
} else {
  process.stderr.write(
    `heddle: Node ${process.versions.node} is older than ${oldest}, which Heddle needs: install a newer one (https://nodejs.org), or start Heddle by npm start, which brings one.\n`,
  );
  process.exitCode = 1;
}

/**
 * Node need not compile again what it keeps, here and in the processes that this one starts. Beside the program, because
 * whoever may write what is kept decides what runs. Where that cannot be written, NODE_COMPILE_CACHE names another folder.
 */
function keepCompiled() {
  const folder = require("node:url").fileURLToPath(new URL("../.cache/compile", import.meta.url));
  const { status } = module.enableCompileCache(folder);
  if (status === module.constants.compileCacheStatus.ENABLED) process.env.NODE_COMPILE_CACHE = folder;
}
