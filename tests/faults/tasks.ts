import type { FakeReply } from "../fakes/anthropic.ts";
import type { MessagesBody } from "../fakes/anthropic-rules.ts";

/**
 * The scripted model of the fault suite. It does what the messages ask, and all it knows is in the request: a
 * turn that another process resumes therefore goes on like the one that was interrupted.
 *
 * `task 17 calls 2` makes it append the lines `17-1` and `17-2` to a file, one tool call each, and then answer
 * `Answered: 17.`; a command begins with `pause` seconds of sleep if the message says so, writes the time to another
 * file as long as anything of it is alive if it says `ticking`, and needs an approval if it says `asking`. `plan task 17` makes it plan the task for a moment later, `plan in 0.2 task 17` in so many
 * minutes, and at `fails` the service refuses.
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
      // Heddle tells the time beside what people ask.
      else if (!block.text.startsWith("(It is ")) asked.push(block.text);
    }
  }
  const plan = /plan (?:in ([\d.]+) )?(task (\d+).*)/.exec(asked.join("\n"));
  if (plan) {
    const [, minutes = "0.005", task = "", number = ""] = plan;
    const said = resultOfPlanning(body, task);
    if (said === "done") return { content: [{ type: "text", text: `Planned: ${number}.` }] };
    const create = { action: "create", task, in_minutes: Number(minutes) };
    return {
      content: [
        { type: "tool_use", name: "schedule", input: said === "unknown" ? { action: "list" } : create },
      ],
    };
  }
  if (asked.at(-1)?.includes("fails")) {
    return { status: 400, type: "invalid_request_error", message: "This cannot be done." };
  }
  const tasks = asked.flatMap((text) => [
    ...text.matchAll(/task (\d+)(?: calls (\d+))?(?: pause ([\d.]+))?( ticking)?( asking)?/g),
  ]);
  for (const [, task, calls = "0", pause, ticks, asks] of tasks) {
    for (let n = 1; n <= Number(calls); n += 1) {
      const label = `${task}-${n}`;
      if (called.has(label)) continue;
      const before = `${asks ? `true ${askFirst}; ` : ""}${ticks ? tickInBackground(label) : ""}`;
      const command = `${before}${pause ? `sleep ${pause}; ` : ""}echo ${label} >> ${callLog}`;
      return { content: [{ type: "tool_use", name: "bash", input: { command } }] };
    }
  }
  return { content: [{ type: "text", text: answerTo(tasks.map(([, task = ""]) => task)) }] };
}

/** A command with this argument must be approved. */
export const askFirst = "ask-first";

/** The file in the workspace to which each tool call appends its line. */
export const callLog = "calls.log";

/** The file to which a ticking call appends its label and the time, s. */
export const tickLog = "ticks.log";

/** A process that outlives the command's own, were it not ended with it. Without programs of its own, to cost little. */
function tickInBackground(label: string): string {
  return `(while read -rt 0.1 <> <(:); [ $? -gt 128 ]; do echo "tick ${label} $EPOCHREALTIME" >> ${tickLog}; done) & `;
}

function answerTo(tasks: readonly string[]): string {
  return `Answered: ${tasks.join(" ")}.`;
}

function labelsIn(text: string): string[] {
  return [...text.matchAll(/echo (\d+-\d+)/g)].map(([, label = ""]) => label);
}

/** Whether the task is planned; a call that was interrupted leaves that open until the list of plans tells. */
function resultOfPlanning({ messages }: MessagesBody, task: string): "not" | "unknown" | "done" {
  const blocks = messages.flatMap(({ content }) => (typeof content === "string" ? [] : content));
  let state: "not" | "unknown" | "done" = "not";
  let creates = false;
  for (const block of blocks) {
    if (block.type === "tool_use" && block.name === "schedule") {
      creates = JSON.stringify(block.input).includes('"create"');
    } else if (block.type === "tool_result") {
      const text = JSON.stringify(block.content);
      if (text.includes("Outcome unknown")) state = "unknown";
      else if (creates || state === "unknown") state = creates || text.includes(task) ? "done" : "not";
    }
  }
  return state;
}

/**
 * Replies for a turn that is cut off: its first command writes into the workspace until somebody ends it; a model that is
 * told that its outcome is unknown waits in a second one. Both sleep for times by which their processes are found.
 */
export function cutOffThenWaiting() {
  return {
    ask: (writing: string, waiting: string) => `<@BOT> write ${writing} then ${waiting}`,
    replies({ messages }: MessagesBody): FakeReply {
      const [, writing = "", waiting = ""] =
        /write ([\d.]+) then ([\d.]+)/.exec(JSON.stringify(messages)) ?? [];
      const results = [...JSON.stringify(messages).matchAll(/"tool_result"/g)].length;
      const commands = [
        `(while sleep 0.1; do echo "line $((++n))" >> ${callLog}; done) & sleep ${writing}`,
        `sleep ${waiting}`,
      ];
      const command = commands[results];
      return command
        ? { content: [{ type: "tool_use", name: "bash", input: { command } }] }
        : { content: [{ type: "text", text: "Answered." }] };
    },
  };
}
