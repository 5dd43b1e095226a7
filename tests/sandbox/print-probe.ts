/** Prints what the probe of a bot's sandbox finds. */
import { createBubblewrapBackend } from "../../src/sandbox/bubblewrap/backend.ts";

const backend = createBubblewrapBackend({ dataDir: process.argv[2] ?? "" });
const { ok, problems } = await backend.probe();
const sandbox = await backend.open("local:test:one:1").catch(() => undefined);
// A job opens the thread's network, which the next command joins.
const job = await sandbox?.start({ command: "python3 -m http.server 8000" });
const get =
  'until curl --silent --output /dev/null --write-out "%{http_code}" localhost:8000; do sleep 0.1; done';
const answer = await sandbox?.exec({ command: get, timeoutMs: 60_000 });
await backend.close();
console.log(JSON.stringify({ ok, problems, job: job?.ok, answer: answer?.stdout.toString() }));
