// `npm run bench:scale`: sets up what is missing, then measures what several processes carry.
import { launch } from "./bootstrap/launch.js";

await launch(["bench/scale.ts", ...process.argv.slice(2)], { development: true, sandbox: true });
