import { setTimeout as delay } from "node:timers/promises";
import { processesWith, running, uniqueSleep } from "../../tests/e2e/processes.ts";
import { runs, says } from "../../tests/fakes/anthropic-replies.ts";
import { type Effort, type Figure, type Findings, goal, ms } from "../figure.ts";
import { spread } from "../measure.ts";
import { serveThread, type ServedThread } from "../served-thread.ts";

/** How long a stop takes, seen from outside. */
export const stop: Figure = {
  id: "stop",
  title: "From 🛑",
  method:
    "Somebody reacts to the question with 🛑 while the thread's sandbox runs a command with six children. Its processes are polled in /proc every millisecond; the receipt is timed when Slack has received the message.",
  measure,
};

async function measure(effort: Effort): Promise<Findings> {
  await using served = await serveThread((said) => {
    const seconds = /sleep (\d+\.\d+)/.exec(said)?.[1];
    if (said.includes("tool_result") || seconds === undefined) return says("Done.");
    return runs(`for i in 1 2 3 4 5 6; do setsid sleep ${seconds} & done; sleep ${seconds}`);
  });
  await served.heddle();
  const gone: number[] = [];
  const receipt: number[] = [];
  let survivors = 0;
  const warmUp = 2;
  for (let round = 0; round < warmUp + effort.pick(6, 60); round += 1) {
    const seen = await oneStop(served, `stop-${round}`);
    survivors += seen.survivors;
    if (round < warmUp) continue;
    gone.push(seen.gone);
    receipt.push(seen.receipt);
  }
  const [dead, told] = [spread(gone), spread(receipt)];
  return {
    table: {
      columns: ["from 🛑 to", "stops", "p50", "p95", "max"],
      rows: [
        ["no process alive", String(dead.count), ms(dead.p50), ms(dead.p95), ms(dead.max)],
        ["the receipt in the thread", String(told.count), ms(told.p50), ms(told.p95), ms(told.max)],
      ],
    },
    goals: [
      goal("stop to no process alive, p50", dead.p50, "ms", { below: 15 }),
      goal("stop to the receipt, p50", told.p50, "ms", { below: 50 }),
    ],
    checks: [
      {
        rule: "no process of a stopped turn is alive once its receipt is posted",
        holds: survivors === 0,
        seen: `${survivors} survivors of ${warmUp + dead.count} stops`,
      },
    ],
  };
}

async function oneStop({ slack }: ServedThread, channel: string) {
  const { command, seconds } = uniqueSleep();
  const place = slack.channel(channel);
  const question = await slack.user("ada").says(place, `<@BOT> ${command}`);
  await running(command);
  const startedAt = performance.now();
  await slack.user("bob").reacts("octagonal_sign", question);
  const [gone, receipt] = await Promise.all([
    allGone(seconds).then(() => performance.now() - startedAt),
    slack
      .message(({ channel: posted, text }) => posted === place && text.includes("Stopped by bob"))
      .then(() => performance.now() - startedAt),
  ]);
  return { gone, receipt, survivors: processesWith(seconds).length };
}

/** /proc tells no events, so it is looked at often. */
async function allGone(seconds: string): Promise<void> {
  while (processesWith(seconds).length > 0) await delay(1);
}
