import type { FakeReply } from "../fakes/anthropic.ts";
import type { MessagesBody } from "../fakes/anthropic-rules.ts";

/**
 * The scripted model of the fault suite. It does what the messages ask, and all it knows is in the request: a
 * turn that another process resumes therefore goes on like the one that was interrupted.
 *
 * `task 17 calls 2` makes it append the lines `17-1` and `17-2` to a file, one tool call each, and then answer
 * `Answered: 17.`; a command begins with `pause` seconds of sleep if the message says so.
 */
export function replyTo(body: MessagesBody): FakeReply {
  const asked: string[] = [];
  const called = new Set<string>();
  for (const { role, content } of body.messages) {
    const blocks = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
    const calls = blocks.filter(({ type }) => type === "tool_use");
    // An answer settles what was asked before it.
    if (role === "assistant" && calls.length === 0) asked.length = 0;
    for (const block of calls) for (const label of labelsIn(JSON.stringify(block))) called.add(label);
    if (role !== "user") continue;
    for (const block of blocks) {
      if (block.type !== "text") continue;
      // What was stopped is not to be done any more.
      if (block.text.includes("stopped the work above")) asked.length = 0;
      else asked.push(block.text);
    }
  }
  const tasks = asked.flatMap((text) => [
    ...text.matchAll(/task (\d+)(?: calls (\d+))?(?: pause ([\d.]+))?/g),
  ]);
  for (const [, task, calls = "0", pause] of tasks) {
    for (let n = 1; n <= Number(calls); n += 1) {
      const label = `${task}-${n}`;
      if (called.has(label)) continue;
      const command = `${pause ? `sleep ${pause}; ` : ""}echo ${label} >> ${callLog}`;
      return { content: [{ type: "tool_use", name: "bash", input: { command } }] };
    }
  }
  return { content: [{ type: "text", text: answerTo(tasks.map(([, task = ""]) => task)) }] };
}

/** The file in the workspace to which each tool call appends its line. */
export const callLog = "calls.log";

function answerTo(tasks: readonly string[]): string {
  return `Answered: ${tasks.join(" ")}.`;
}

function labelsIn(text: string): string[] {
  return [...text.matchAll(/echo (\d+-\d+)/g)].map(([, label = ""]) => label);
}
