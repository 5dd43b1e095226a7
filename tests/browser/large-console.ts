/** A console of a team that has used it for long. */
import type { Redis } from "ioredis";
import { Conversations } from "../../src/adapters/console/conversations/conversations.ts";
import type { JournalRecord } from "../../src/agent/journal/journal.ts";
import { begin, call, calling, end, resultOf, usageOf, write } from "../adapters/console/sessions.ts";

/** Written side by side. */
const atOnce = 100;

/** Answered threads of Slack, "Task 0" the oldest. */
export async function writeThreads(redis: Redis, count: number): Promise<void> {
  for (let from = 0; from < count; from += atOnce) {
    const some = Array.from({ length: Math.min(atOnce, count - from) }, (_, index) => from + index);
    await Promise.all(
      some.map(async (n) => {
        const thread = `slack:T1:C1:${n}.0`;
        await write(redis, thread, `Task ${n}`);
        await end(await begin(redis, thread), {
          ...{ kind: "answered", text: "Done.", steps: 0, usage: usageOf(0.01) },
        });
      }),
    );
  }
}

/** One turn of steps with a call each: three records a step, besides its beginning and its end. */
export async function writeRecords(redis: Redis, thread: string, records: number): Promise<void> {
  await write(redis, thread, "A long task");
  const lease = await begin(redis, thread);
  const steps = Math.floor((records - 3) / 3);
  for (let from = 0; from < steps; from += atOnce) {
    const some = Array.from({ length: Math.min(atOnce, steps - from) }, (_, index) => from + index + 1);
    await lease.append(some.flatMap(recordsOf));
  }
  await end(lease, { kind: "answered", text: "Done.", steps, usage: usageOf(9) });
}

export function recordsOf(step: number): JournalRecord[] {
  const id = `c${step}`;
  return [
    calling(step, [call(id, "bash", { command: `run ${step}` })]),
    { type: "tool-start", callId: id, at: Date.now() },
    resultOf(id, "bash", `line ${step}`),
  ];
}

export const longConversation = "longconversation1";

/** A console thread of questions and answers in turn, "Question 0" the oldest. */
export async function writeMessages(redis: Redis, count: number, thread = longConversation): Promise<void> {
  const conversations = new Conversations(redis, Date.now);
  for (let n = 0; n < count; n += 1) {
    const content =
      n % 2 === 0
        ? ({ kind: "person", name: "Ada", text: `Question ${n}: what is **it**?`, mark: "answered" } as const)
        : ({ kind: "answer", markdown: answerOf(n) } as const);
    await conversations.add(thread, `m${n}`, content);
  }
}

function answerOf(n: number): string {
  const lines = Array.from({ length: n % 7 }, (_, line) => `- point ${line} of ${n}, with **some** words`);
  return [`Answer ${n}: it is *this*.`, "", ...lines, "", "```js", `const answer = ${n};`, "```"].join("\n");
}
