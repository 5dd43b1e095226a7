// `npm start` and `npm run heddle -- <command>`: sets up what is missing, then runs the program.
import { launchHeddle } from "./bootstrap/launch.js";

const args = process.argv.slice(2);
// The others work without the sandbox; `doctor` says what is wrong with it.
const sandbox = ["start", "run"].includes(args[0] ?? "start");

await launchHeddle("src/main.ts", args, { sandbox });
