// `npm run test:faults`: the whole fault suite, some thirty-five minutes. Its figures go into docs/reliability.md.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { launch } from "./bootstrap/launch.js";

const needs = { development: true, sandbox: true };
const folder = await mkdtemp(join(tmpdir(), "heddle-faults-"));
process.env.HEDDLE_FAULTS = "full";
process.env.HEDDLE_FAULT_FIGURES = join(folder, "figures.jsonl");
// One file at a time, for the times are measured; and within it more than two cores do, for most of it is waiting.
const pace = ["--no-file-parallelism", "--maxConcurrency=6"];
const suite = ["node_modules/vitest/vitest.mjs", "run", "tests/faults", ...pace];
await launch([...suite, ...process.argv.slice(2)], needs);
if (process.exitCode) console.error(`What was measured is kept in ${process.env.HEDDLE_FAULT_FIGURES}.`);
else {
  await launch(["tests/faults/report.ts"], needs);
  await rm(folder, { recursive: true, force: true });
}
