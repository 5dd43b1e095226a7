// `npm run test:security`: tries every attack that docs/security.md names a test for, and writes there how many held.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { launch } from "./bootstrap/launch.js";

const needs = { development: true, sandbox: true };
const folder = await mkdtemp(join(tmpdir(), "heddle-security-"));
process.env.HEDDLE_SECURITY_RESULTS = join(folder, "results.json");
await launch(["scripts/security/try-attacks.ts"], needs);
if (!process.exitCode) await launch(["scripts/security/report.ts"], needs);
await rm(folder, { recursive: true, force: true });
