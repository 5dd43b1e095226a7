// `npm run bench`: sets up what is missing, then measures. `npm run bench -- --quick` takes less than a minute.
import { launch } from "./bootstrap/launch.js";

await launch(["bench/run.ts", ...process.argv.slice(2)], { development: true, sandbox: true });
