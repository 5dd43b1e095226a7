// `npm test`: sets up what is missing, then runs the tests. `npm test -- tests/agent` runs some of them.
import { launch } from "./bootstrap/launch.js";

const vitest = ["node_modules/vitest/vitest.mjs", "run"];
await launch([...vitest, ...process.argv.slice(2)], { development: true, sandbox: true });
