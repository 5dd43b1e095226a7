/**
 * A bot that runs commands, or a service, until somebody kills it: takes shell commands over IPC, tells when one has
 * written something.
 */
import { createBubblewrapBackend } from "../../src/sandbox/bubblewrap/backend.ts";

const [dataDir = "", kind = "command"] = process.argv.slice(2);
const backend = createBubblewrapBackend({ dataDir });
const sandbox = await backend.open("local:test:killed:1");
const onOutput = () => process.send?.("output");
process.on("message", (command: string) => {
  if (kind === "service") {
    const access = { read: [], write: [], network: [] };
    const request = { name: "killed", command: "/bin/bash", args: ["-c", command], env: {}, access };
    void backend.serve({ ...request, onOutput });
  } else {
    void sandbox.exec({ command, onOutput });
  }
  process.send?.("started");
});
process.send?.("ready");
