// `node scripts/try-upgrade.js [REF]`: replaces the version of that commit (by default the newest tag) by the present
// one while it works, in all orders, against stand-ins for Slack and the model. Two minutes, and redis-server.
import { launch } from "./bootstrap/launch.js";

await launch(["tests/faults/upgrade.ts", ...process.argv.slice(2)], { development: true, sandbox: true });
