import type { Redis } from "ioredis";
import type { JournalRecord } from "../src/agent/journal/journal.ts";
import type { Usage } from "../src/agent/model.ts";
import type { ThreadId } from "../src/chat/threads.ts";
import { keys } from "../src/queue/redis/keys.ts";

/** A summary comes with each so many turns, as the model's window is full. */
const turnsUntilSummary = 100;
const output = "A line of what a command has printed.\n".repeat(20);
const usage: Usage = { input: 2_000, output: 100, cacheRead: 0, cacheWrite: 0, cost: 0.01, calls: 1 };
const turnsAtOnce = 500;

/** Writes the journal of a thread in which so many turns were answered, as workers would have in years. */
export async function writeLongJournal(redis: Redis, thread: ThreadId, turns: number): Promise<void> {
  let length = 0;
  for (let from = 0; from < turns; from += turnsAtOnce) {
    const count = Math.min(turnsAtOnce, turns - from);
    const records = Array.from({ length: count }, (_, index) => turnOf(from + index)).flat();
    length = await redis.rpush(keys.log(thread), ...records.map((record) => JSON.stringify(record)));
  }
  await redis.hset(keys.head(thread), { created: 1, status: "idle", length });
}

function turnOf(n: number): JournalRecord[] {
  const [turn, at] = [`t${n}`, n];
  const call = { id: `c${n}`, name: "bash", input: { command: `grep -n ${n} log.txt` } };
  const author = { id: "U1", name: "Ada" };
  const reply = { role: "assistant", model: "bench/none" } as const;
  const text = `It stands in line ${n}.`;
  const summary = { role: "summary", text: "They look for lines. ".repeat(50) } as const;
  return [
    { type: "turn-start", turn, at },
    { type: "user", message: { role: "user", id: `m${n}`, author, text: `Where is ${n}?`, at } },
    ...(n % turnsUntilSummary === turnsUntilSummary - 1
      ? [{ type: "summary", message: summary, keep: 9, usage, at } as const]
      : []),
    {
      ...{ type: "assistant", step: 1, usage, at },
      message: { ...reply, id: `a${n}`, stop: "tool-calls", parts: [{ type: "tool-call", call }] },
    },
    { type: "tool-start", callId: call.id, at },
    {
      ...{ type: "tool-result", durationMs: 5, at },
      message: { role: "tool", callId: call.id, name: "bash", status: "ok", text: output },
    },
    {
      ...{ type: "assistant", step: 2, usage, at },
      message: { ...reply, id: `b${n}`, stop: "end", parts: [{ type: "text", text }] },
    },
    { type: "turn-end", turn, outcome: { kind: "answered", text, steps: 2, usage }, at },
  ];
}
