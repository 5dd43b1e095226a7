// `npm run profile`: sets up what is missing, then records where the time goes. It takes less than two minutes.
import { launch } from "./bootstrap/launch.js";

await launch(["bench/profile.ts", ...process.argv.slice(2)], { development: true, sandbox: true });
