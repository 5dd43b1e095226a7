import { closeSync, constants, openSync, readSync } from "node:fs";
import { createInterface, type Interface } from "node:readline/promises";
import { hasErrorCode } from "../../sandbox/system-error.ts";
import type { Question } from "../../agent/questions.ts";

/** A press of one of the question's buttons, as `intake/questions.ts` reads it. */
export interface KeyPress {
  action: string;
  text?: string;
}

interface Terminal {
  input: NodeJS.ReadableStream & { isTTY?: boolean; fd?: number; setRawMode?(raw: boolean): unknown };
  output: NodeJS.WritableStream;
}

/**
 * Asks the person at the terminal. Where nobody sits there the agent is told so at once, so that `heddle run` in a
 * script does not wait for a day.
 *
 * @throws when `signal` is aborted first
 */
export async function decideAtTerminal(
  question: Question,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<KeyPress> {
  if (!terminal.input.isTTY) return forNobody(question);
  dropTypedAhead(terminal.input);
  const lines = createInterface({ ...terminal, terminal: true });
  // It takes Ctrl-C for itself otherwise.
  lines.on("SIGINT", () => process.emit("SIGINT"));
  try {
    return await readDecision(question, lines, signal);
  } catch (error) {
    if (signal.aborted) throw error;
    // Ctrl-D: nobody answers any more.
    return forNobody(question);
  } finally {
    lines.close();
  }
}

async function readDecision(question: Question, lines: Interface, signal: AbortSignal): Promise<KeyPress> {
  switch (question.kind) {
    case "approval": {
      const always = question.rules ? ", always in this thread" : "";
      const said = (await lines.question(`May it run? [yes${always}, or why not] `, { signal })).trim();
      if (/^y(es)?$/i.test(said)) return { action: `approve:${question.id}` };
      if (always && /^a(lways)?$/i.test(said)) return { action: `approve-thread:${question.id}` };
      return { action: `deny:${question.id}`, text: said };
    }
    case "choice": {
      const said = (await lines.question("Your answer, or its number: ", { signal })).trim();
      const index = Number(said) - 1;
      if (question.choices[index] !== undefined) return { action: `answer:${question.id}:${index}` };
      return { action: `answer:${question.id}`, text: said || "No answer." };
    }
    case "account":
    case "input":
      return forNobody(question);
  }
}

/** What was typed before the question was on the screen is no answer to it. */
function dropTypedAhead(input: Terminal["input"]): void {
  // A line that is not finished stays in the terminal otherwise; the interface that follows wants it so too.
  input.setRawMode?.(true);
  while (input.read() !== null);
  if (input.fd === undefined) return;
  const terminal = openSync(
    `/dev/fd/${input.fd}`,
    constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY,
  );
  try {
    while (readSync(terminal, Buffer.alloc(4_096)) > 0);
  } catch (error) {
    // There is nothing more.
    if (!hasErrorCode(error, "EAGAIN")) throw error;
  } finally {
    closeSync(terminal);
  }
}

function forNobody(question: Question): KeyPress {
  switch (question.kind) {
    case "approval":
      return { action: `deny:${question.id}`, text: "Nobody is at the terminal to approve it." };
    case "choice":
      return { action: `answer:${question.id}`, text: "Nobody is at the terminal. Decide yourself." };
    case "input":
      return { action: `input:${question.id}:decline` };
    case "account":
      return { action: `deny:${question.id}`, text: "Accounts are connected in a chat, or at the console." };
  }
}
