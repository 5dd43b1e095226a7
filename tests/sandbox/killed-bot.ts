/** A bot that runs commands until somebody kills it: takes commands over IPC, tells when one has written something. */
import { createBubblewrapBackend } from "../../src/sandbox/bubblewrap/backend.ts";

const backend = createBubblewrapBackend({ dataDir: process.argv[2] ?? "" });
const sandbox = await backend.open("local:test:doomed:1");
process.on("message", (command: string) => {
  void sandbox.exec({ command, onOutput: () => process.send?.("output") });
  process.send?.("started");
});
process.send?.("ready");
