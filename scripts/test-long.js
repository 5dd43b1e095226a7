// `npm run test:long`: conversations of 300 rounds in four windows. Their figures go into docs/benchmarks.md.
import { launch } from "./bootstrap/launch.js";

await launch(["tests/long/report.ts"], { development: true, sandbox: false });
