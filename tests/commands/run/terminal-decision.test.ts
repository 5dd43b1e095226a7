import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import type { Question } from "../../../src/agent/questions.ts";
import { decideAtTerminal } from "../../../src/commands/run/terminal-decision.ts";

const about = { id: "q1", callId: "c1", tool: "bash", requester: { id: "U1", name: "Ada" } };
const times = { askedAt: 0, expiresAt: 1 };
const approval: Question = { ...about, ...times, kind: "approval", why: "" };
const choice: Question = { ...about, ...times, kind: "choice", text: "Which?", choices: ["Red", "Blue"] };

/** What is pressed when the person types this line. */
function typed(question: Question, line: string, isTTY = true) {
  const input = Object.assign(new PassThrough(), { isTTY });
  input.write(`${line}\n`);
  return decideAtTerminal(question, { input, output: new PassThrough() }, new AbortController().signal);
}

test.each([
  [approval, "yes", { action: "approve:q1" }],
  [approval, "Y", { action: "approve:q1" }],
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

test("the end of the turn ends the asking", async () => {
  const over = new AbortController();
  const input = Object.assign(new PassThrough(), { isTTY: true });
  const asked = decideAtTerminal(approval, { input, output: new PassThrough() }, over.signal);
  over.abort();
  await expect(asked).rejects.toThrow();
});
