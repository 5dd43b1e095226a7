// `npm test`: sets up what is missing, then runs the tests that take less than five minutes on two cores.
// `npm test -- tests/agent` runs some of them. `npm run test:whole`: all, also those of minutes; for CI.
import { launch } from "./bootstrap/launch.js";

const options = process.argv.slice(2);
const isWhole = options[0] === "--whole";
if (isWhole) options.shift();
// Who names files gets those, however long they take.
if (!isWhole && options.every((option) => option.startsWith("-"))) process.env.HEDDLE_TESTS = "bounded";
await launch(["node_modules/vitest/vitest.mjs", "run", ...options], { development: true, sandbox: true });
