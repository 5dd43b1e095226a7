import { spawn } from "node:child_process";
import { PassThrough } from "node:stream";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import type { Question } from "../../../src/agent/questions.ts";
import { decideAtTerminal } from "../../../src/commands/run/terminal-decision.ts";

const about = { id: "q1", callId: "c1", tool: "bash", requester: { id: "U1", name: "Ada" } };
const times = { askedAt: 0, expiresAt: 1 };
const approval: Question = { ...about, ...times, kind: "approval", why: "" };
const ruled: Question = { ...approval, rules: [{ id: "r1", text: "git push*" }] };
const choice: Question = { ...about, ...times, kind: "choice", text: "Which?", choices: ["Red", "Blue"] };

/** What is pressed when the person types this line. */
function typed(question: Question, line: string, isTTY = true) {
  const input = Object.assign(new PassThrough(), { isTTY });
  const output = new PassThrough();
  // Only when the question is on the screen.
  output.once("data", () => input.write(`${line}\n`));
  return decideAtTerminal(question, { input, output }, new AbortController().signal);
}

test.each([
  [approval, "yes", { action: "approve:q1" }],
  [approval, "Y", { action: "approve:q1" }],
  [approval, "always", { action: "deny:q1", text: "always" }],
  [ruled, "always", { action: "approve-thread:q1" }],
  [ruled, "yes", { action: "approve:q1" }],
  [approval, "tests are red", { action: "deny:q1", text: "tests are red" }],
  [approval, "", { action: "deny:q1", text: "" }],
  [choice, "2", { action: "answer:q1:1" }],
  [choice, "green", { action: "answer:q1", text: "green" }],
  [choice, "3", { action: "answer:q1", text: "3" }],
])("the person at the terminal decides: %o with %s", async (question, line, press) => {
  expect(await typed(question, line)).toEqual(press);
});

test("without a terminal nothing is approved", async () => {
  expect(await typed(approval, "yes", false)).toMatchObject({ action: "deny:q1" });
});

test.each([
  [approval, { action: "deny:q1", text: "Nobody is at the terminal to approve it." }],
  [choice, { action: "answer:q1", text: "Nobody is at the terminal. Decide yourself." }],
])("who ends the input with Ctrl-D answers no more: %o", async (question, press) => {
  const input = Object.assign(new PassThrough(), { isTTY: true });
  const output = new PassThrough();
  output.once("data", () => input.write("\u0004"));
  expect(await decideAtTerminal(question, { input, output }, new AbortController().signal)).toEqual(press);
});

test("the end of the turn ends the asking", async () => {
  const over = new AbortController();
  const input = Object.assign(new PassThrough(), { isTTY: true });
  const asked = decideAtTerminal(approval, { input, output: new PassThrough() }, over.signal);
  over.abort();
  await expect(asked).rejects.toThrow();
});

test("what was typed before the question stood there neither approves nor denies", async () => {
  const input = Object.assign(new PassThrough(), { isTTY: true });
  const output = new PassThrough();
  input.write("yes\n");
  output.once("data", () => input.write("no, wait\n"));
  const press = await decideAtTerminal(approval, { input, output }, new AbortController().signal);
  expect(press).toEqual({ action: "deny:q1", text: "no, wait" });
});

const atTerminal = fileURLToPath(new URL("decide-in-terminal.ts", import.meta.url));

test("in a real terminal, a line and half a line typed ahead are dropped", async () => {
  const inTerminal = "import pty, sys; pty.spawn(sys.argv[1:])";
  const program = spawn("python3", ["-c", inTerminal, process.execPath, atTerminal]);
  onTestFinished(() => void program.kill());
  let screen = "";
  const shows = (pattern: RegExp) =>
    new Promise<RegExpExecArray>((resolve) => {
      const look = () => {
        const found = pattern.exec(screen);
        if (found) resolve(found);
      };
      program.stdout.on("data", look);
      look();
    });
  program.stdout.on("data", (data: Buffer) => void (screen += data.toString()));
  const [, pid] = await shows(/pid (\d+)/);
  program.stdin.write("yes\nye");
  // The terminal echoes what it has taken.
  await shows(/yes\s+ye/);
  process.kill(Number(pid), "SIGUSR2");
  await shows(/May it run\?/);
  program.stdin.write("no\r");
  const [, press = ""] = await shows(/press (\{.*\})/);
  expect(JSON.parse(press)).toEqual({ action: "deny:q1", text: "no" });
});
