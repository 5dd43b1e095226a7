#!/usr/bin/env node
// @ts-check
// The program for those who start it themselves: `node src/heddle.js start`. An older Node cannot read TypeScript and
// would only say so; this file is for every Node that there is, and says which one is needed.
import { readFileSync } from "node:fs";

const { engines } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
const oldest = engines.node.replace(">=", "");
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
const [oldestMajor = 0, oldestMinor = 0] = oldest.split(".").map(Number);

if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) {
  await import("./main.ts");
} else {
  process.stderr.write(
    `heddle: Node ${process.versions.node} is older than ${oldest}, which Heddle needs: install a newer one (https://nodejs.org), or start Heddle by npm start, which brings one.\n`,
  );
  process.exitCode = 1;
}
