/** Asks for an approval on its terminal as soon as it gets SIGUSR2, and prints the press. */
import { once } from "node:events";
import { decideAtTerminal } from "../../../src/commands/run/terminal-decision.ts";

const alive = setInterval(() => {}, 1_000);
const signalled = once(process, "SIGUSR2");
process.stdout.write(`pid ${process.pid}\n`);
await signalled;
const asked = { id: "q1", callId: "c1", tool: "bash", requester: { id: "U1", name: "Ada" } };
const press = await decideAtTerminal(
  { ...asked, kind: "approval", why: "", askedAt: 0, expiresAt: 1 },
  { input: process.stdin, output: process.stdout },
  new AbortController().signal,
);
process.stdout.write(`press ${JSON.stringify(press)}\n`);
clearInterval(alive);
