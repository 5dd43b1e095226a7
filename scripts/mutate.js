// `npm run mutate -- src/queue/turns/stops.ts`: changes the code in small ways, one at a time, and lists what no test notices.
import { launch } from "./bootstrap/launch.js";

await launch(["scripts/mutate/mutate.ts", ...process.argv.slice(2)], { development: true, sandbox: true });
