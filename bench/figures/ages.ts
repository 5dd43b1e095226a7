import { writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { Redis } from "ioredis";
import { keys } from "../../src/queue/redis/keys.ts";
import { listUnreadable } from "../../src/queue/redis/unreadable.ts";
import { readSessionStatus } from "../../src/queue/session/lists/sessions.ts";
import { says } from "../../tests/fakes/anthropic-replies.ts";
import { type Effort, type Figure, type Findings, goal, ms, quantity } from "../figure.ts";
import { writeLongJournal } from "../long-journal.ts";
import { spread } from "../measure.ts";
import { residentMemory, workerOf } from "../process-tree.ts";
import { serveThread, type ServedThread } from "../served-thread.ts";

/** What the next turn of a thread costs that is years old. */
export const ages: Figure = {
  id: "ages",
  title: "The next turn of an old thread",
  method:
    "A gateway and one worker process. The journals of threads with so many turns (one call each, a summary with each hundredth turn) are written to Redis; then somebody writes in them. Told is the time from a message to the model request, and the worker's peak resident memory until the answer: the median of turns in each thread by turns. The first turn of a journal that no worker has seen, as one that an earlier Heddle has left, has to find its way without a snapshot: it is told apart.",
  measure,
};

/** Of the next turn, compared with that of a young thread. */
const mostRatio = 2;
const mostFirstMs = 2_000;
const patienceMs = 120_000;
const answer = "Here is the answer.";

interface Cost {
  ms: number;
  /** The peak of the worker's resident memory. */
  bytes: number;
}

async function measure(effort: Effort): Promise<Findings> {
  await using served = await serveThread(() => says(answer));
  await served.heddle(["--role", "gateway"]);
  const worker = await served.heddle(["--role", "worker"]);
  const pid = workerOf(worker.pid);
  const redis = served.redis.client();
  const turns = effort.pick([10, 2_000, 10_000], [10, 2_000, 20_000, 200_000]);
  const threads = [];
  for (const count of turns) threads.push(await openThread(served, redis, pid, count));
  const costs = new Map<number, Cost[]>(turns.map((count) => [count, []]));
  const warmUp = effort.pick(1, 3);
  for (let round = 0; round < warmUp + effort.pick(3, 11); round += 1) {
    for (const { count, next } of threads) {
      const cost = await next();
      if (round >= warmUp) costs.get(count)?.push(cost);
    }
  }
  const rows = threads.map(({ count, first }) => ({ count, first, ...median(costs.get(count) ?? []) }));
  const [young, old] = [rows[0], rows.at(-1)];
  if (!young || !old) throw new Error("No thread was measured.");
  const unreadable = await listUnreadable(redis);
  const against = { ms: old.ms / young.ms, bytes: old.bytes / young.bytes };
  const what = `the next turn after ${old.count.toLocaleString("en")} turns to that after ${young.count}`;
  return {
    table: {
      columns: [
        "turns before",
        "next turn, p50",
        "memory, peak",
        "first turn without a snapshot",
        "memory, peak",
      ],
      rows: rows.map((row) => [
        row.count.toLocaleString("en"),
        ms(row.ms),
        quantity(row.bytes / 1e6, "MB"),
        ms(row.first.ms),
        quantity(row.first.bytes / 1e6, "MB"),
      ]),
    },
    goals: [
      goal(`${what}, time`, against.ms, "×", { atMost: mostRatio }),
      goal(`${what}, memory`, against.bytes, "×", { atMost: mostRatio }),
      goal(
        `the first turn after ${old.count.toLocaleString("en")} turns without a snapshot`,
        old.first.ms,
        "ms",
        { below: mostFirstMs },
      ),
    ],
    checks: [
      {
        rule: "every record of these journals can be read",
        holds: unreadable.length === 0,
        seen: unreadable[0] ?? "none that cannot",
      },
    ],
  };
}

function median(costs: readonly Cost[]): Cost {
  return {
    ms: spread(costs.map((cost) => cost.ms)).p50,
    bytes: spread(costs.map((cost) => cost.bytes)).p50,
  };
}

/** A thread with so many turns, and what the first turn behind them costs. */
async function openThread(served: ServedThread, redis: Redis, pid: number, count: number) {
  const { slack, model } = served;
  const place = slack.channel(`age-${count}`);
  const ada = slack.user("ada");
  const question = await ada.says(place, "<@BOT> hello");
  let answers = 1;
  const thread = async () => {
    const threads = await redis.zrange(keys.threads, "0", "-1");
    return threads.find((id) => id.endsWith(question.ts)) ?? "";
  };
  const rest = async () => {
    const isAnswered = () => place.messages.filter(({ text }) => text.includes(answer)).length === answers;
    await slack.until(isAnswered, patienceMs);
    const id = await thread();
    while ((await readSessionStatus(redis, id)) !== "idle") await delay(5);
    return id;
  };
  const id = await rest();
  await redis.del(keys.log(id), keys.snapshot(id));
  await writeLongJournal(redis, id, count);
  const next = async (): Promise<Cost> => {
    // Sets the peak back to what is resident now (proc(5)).
    writeFileSync(`/proc/${pid}/clear_refs`, "5");
    const request = model.request(model.requests.length + 1);
    const startedAt = performance.now();
    await ada.says(place, "and now?", { thread: question.ts });
    await request;
    const took = performance.now() - startedAt;
    answers += 1;
    await rest();
    return { ms: took, bytes: residentMemory(pid, "most") };
  };
  return { count, next, first: await next() };
}
