import { randomUUID } from "node:crypto";
import type { LanguageModel } from "../../src/agent/model.ts";
import { startRedis } from "../../tests/fakes/redis.ts";
import { conversation } from "../candidates/conversation.ts";
import { type Effort, type Figure, type Findings, goal, ms, ratio } from "../figure.ts";
import { journalOf } from "../journal.ts";
import { interleave, spread, timed } from "../measure.ts";
import { openWorkbench } from "../workbench.ts";

const histories = ["10", "100", "1000", "5000"] as const;
const stepsInTurn = 20;
/** Threads that one worker serves at once, to see what a step costs where nothing waits. */
const atOnce = 64;
const together = `10, in ${atOnce} threads at once`;

/** What a step costs when the model costs nothing, and how that grows with the conversation. */
export const step: Figure = {
  id: "step",
  title: "Own cost of a step",
  method: `From the end of one model reply to the next model call, with a model in the same process that answers immediately: the reply is stored and shown; its tool call is checked, stored and run (adding two numbers); the result is masked and stored; stop orders and follow-ups are checked for; and the next request is measured against the context window. The journal is in Redis over a Unix socket, and progress goes to a chat that may be edited every 5 ms. Turns of ${stepsInTurn} steps follow conversations of several lengths, interleaved. In ${atOnce} threads at once a step takes the time of them all, from their start to their answers, divided by their steps.`,
  measure,
};

async function measure(effort: Effort): Promise<Findings> {
  const redis = await startRedis();
  try {
    const model = timedModel();
    const bench = await openWorkbench(redis, model);
    const variants = histories.map((name) => ({
      name,
      async run() {
        const thread = await bench.thread(journalOf(conversation(Number(name))));
        model.gaps.length = 0;
        await bench.run(thread, "Add them up.");
        return [...model.gaps];
      },
    }));
    const crowd = {
      name: together,
      async run() {
        const journal = journalOf(conversation(10));
        const threads = await Promise.all(Array.from({ length: atOnce }, () => bench.thread(journal)));
        const all = await timed(() =>
          Promise.all(threads.map((thread) => bench.run(thread, "Add them up."))),
        );
        return [all / (atOnce * stepsInTurn)];
      },
    };
    const samples = await interleave([...variants, crowd], {
      rounds: effort.pick(5, 40),
      warmUp: effort.pick(2, 5),
    });
    const spreads = histories.map((name) => ({ name, ...spread(samples.get(name) ?? []) }));
    const crowded = { name: together, ...spread(samples.get(together) ?? []) };
    const [shortest, longest] = [spreads[0], spreads.at(-1)];
    if (!shortest || !longest) throw new Error("No history was measured.");
    const growth = longest.p50 / shortest.p50;
    return {
      table: {
        columns: ["messages before", "measured", "p50", "p95", "p50 vs. 10 messages"],
        rows: [...spreads, crowded].map(({ name, count, p50, p95 }) => [
          name,
          String(count),
          ms(p50),
          ms(p95),
          ratio(p50 / shortest.p50),
        ]),
      },
      goals: [
        goal("own cost of a step, p50", shortest.p50, "ms", { below: 5 }),
        goal("a step after 5,000 messages vs. after 10", growth, "×", { atMost: 1.2 }),
      ],
      charts: [
        {
          kind: "lines",
          name: "step-history",
          title: "Own cost of a step",
          unit: "ms",
          axis: "messages before the turn",
          at: histories,
          lines: [
            { name: "p50", values: spreads.map(({ p50 }) => p50) },
            { name: "p95", values: spreads.map(({ p95 }) => p95) },
          ],
        },
      ],
    };
  } finally {
    await redis.stop();
  }
}

/** Calls the tool for a turn's length, then answers; `gaps` are the times between a reply and the next call, ms. */
function timedModel(): LanguageModel & { gaps: number[] } {
  const gaps: number[] = [];
  let repliedAt: number | undefined;
  return {
    id: "bench/instant",
    limits: { contextTokens: 2_000_000, maxOutputTokens: 8_000, images: false },
    gaps,
    async *stream({ messages }) {
      if (repliedAt !== undefined) gaps.push(performance.now() - repliedAt);
      const done = messages.length - 1 - messages.findLastIndex(({ role }) => role === "user");
      const number = done / 2 + 1;
      const isLast = number >= stepsInTurn;
      const text = isLast ? "That is all." : "Adding.";
      yield { type: "text", delta: text };
      const call = { id: `call_${number}`, name: "add", input: { a: number, b: number } };
      repliedAt = isLast ? undefined : performance.now();
      yield {
        type: "done",
        message: {
          role: "assistant",
          id: randomUUID(),
          parts: [{ type: "text", text }, ...(isLast ? [] : [{ type: "tool-call" as const, call }])],
          model: "bench/instant",
          stop: isLast ? "end" : "tool-calls",
        },
        usage: { input: 100, output: 10, cacheRead: 0, cacheWrite: 0, cost: 0, calls: 1 },
      };
    },
  };
}
