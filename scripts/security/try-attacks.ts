/** Runs the test files of all claims, and leaves what became of them where `report.ts` finds it. */
import { spawnSync } from "node:child_process";
import { readClaims, root } from "./claims.ts";

const files = [...new Set(readClaims().flatMap((claim) => claim.files))];
const reporters = ["--reporter=default", "--reporter=json"];
const output = `--outputFile.json=${process.env["HEDDLE_SECURITY_RESULTS"]}`;
const { status } = spawnSync(
  process.execPath,
  ["node_modules/vitest/vitest.mjs", "run", ...reporters, output, ...files],
  { cwd: root, stdio: "inherit" },
);
process.exitCode = status ?? 1;
