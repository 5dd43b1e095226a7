// `npm run eval`: sets up what is missing, then has the configured model do small tasks, and checks what it did.
import { launch } from "./bootstrap/launch.js";

await launch(["eval/run.ts", ...process.argv.slice(2)], { development: true, sandbox: true });
