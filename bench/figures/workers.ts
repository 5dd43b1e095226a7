import { setTimeout as delay } from "node:timers/promises";
import { says } from "../../tests/fakes/anthropic-replies.ts";
import { type Effort, type Figure, type Findings, quantity, ratio } from "../figure.ts";
import { serveThread } from "../served-thread.ts";

const modelMs = 250;
const slots = 8;

/** How throughput grows with worker processes. */
export const workers: Figure = {
  id: "workers",
  title: "Workers",
  method: `A gateway and 1, 2 or 4 worker processes that each run ${slots} turns at once; every turn is one model call of ${modelMs} ms, so a worker can do at most ${(slots * 1_000) / modelMs} turns a second. All mentions arrive at once, each from a different person in a different channel; timed from the first mention to the last answer. Once the machine's cores are saturated, more workers do not help.`,
  measure,
};

async function measure(effort: Effort): Promise<Findings> {
  const turns = effort.pick(40, 400);
  const results: { count: number; perSecond: number }[] = [];
  for (const count of effort.pick([1, 4], [1, 2, 4])) {
    results.push({ count, perSecond: await throughput(count, turns) });
  }
  const one = results[0]?.perSecond ?? Number.NaN;
  return {
    table: {
      columns: ["workers", "turns per second", "vs. one worker"],
      rows: results.map(({ count, perSecond }) => [
        String(count),
        quantity(perSecond, "/s"),
        ratio(perSecond / one),
      ]),
    },
    charts: [
      {
        kind: "bars",
        name: "workers",
        title: "Turns per second",
        unit: "/s",
        bars: results.map(({ count, perSecond }) => ({
          name: count === 1 ? "1 worker" : `${count} workers`,
          value: perSecond,
          ours: true,
        })),
      },
    ],
  };
}

/** Longest wait for all answers, ms. */
const patienceMs = 120_000;

async function throughput(count: number, turns: number): Promise<number> {
  await using served = await serveThread(
    async () => {
      await delay(modelMs);
      return says("The answer.");
    },
    { queue: { concurrency: slots } },
  );
  const { slack } = served;
  await served.heddle(["--role", "gateway"]);
  await Promise.all(Array.from({ length: count }, () => served.heddle(["--role", "worker"])));
  const places = Array.from({ length: turns }, (_, index) => slack.channel(`work-${index}`));
  const startedAt = performance.now();
  await Promise.all(places.map((place, index) => slack.user(`person-${index}`).says(place, "<@BOT> work")));
  await slack.until(
    () => places.every(({ messages }) => messages.some(({ text }) => text.includes("The answer."))),
    patienceMs,
  );
  return turns / ((performance.now() - startedAt) / 1_000);
}
