import { processesWith, running, uniqueSleep } from "../../tests/e2e/processes.ts";
import { runs, says } from "../../tests/fakes/anthropic-replies.ts";
import type { FakeMessage } from "../../tests/fakes/slack/workspace.ts";
import { type Effort, type Figure, type Findings, goal, ms } from "../figure.ts";
import { spread } from "../measure.ts";
import { serveThread, type ServedThread } from "../served-thread.ts";

const busyThreads = 20;
const channels = 5;
/** Longer than the measurement: what waits for edits waits to the end. */
const retryAfterSeconds = 600;

/** Whether a receipt waits behind progress that Slack refuses. */
export const limitedStop: Figure = {
  id: "limited-stop",
  title: "From 🛑 while edits are refused",
  method: `${busyThreads} threads in ${channels} channels are at work, each with a command that runs, and Slack answers every chat.update with 429. Then they are stopped one after another, so that no channel has two stops at a time; the receipt is timed when Slack has received the message.`,
  measure,
};

async function measure(effort: Effort): Promise<Findings> {
  await using served = await serveThread((said) => {
    const command = /sleep \d+\.\d+/.exec(said)?.[0];
    return said.includes("tool_result") || command === undefined ? says("Done.") : runs(command);
  });
  await served.heddle();
  const threads = await Promise.all(
    Array.from({ length: busyThreads }, (_, index) =>
      beginWork(served, `person-${index}`, `busy-${index % channels}`),
    ),
  );
  served.slack.fail("chat.update", { kind: "rate-limit", retryAfterSeconds }, 10_000);
  const times: number[] = [];
  let survivors = 0;
  for (const { question, seconds } of threads.slice(0, effort.pick(5, busyThreads))) {
    times.push(await stopWork(served, question));
    survivors += processesWith(seconds).length;
  }
  const receipt = spread(times);
  return {
    table: {
      columns: ["from 🛑 to", "stops", "p50", "p95", "max"],
      rows: [
        [
          "the receipt in the thread",
          String(receipt.count),
          ms(receipt.p50),
          ms(receipt.p95),
          ms(receipt.max),
        ],
      ],
    },
    goals: [
      goal("stop to the receipt while edits are refused, slowest", receipt.max, "ms", { below: 1_000 }),
    ],
    checks: [
      {
        rule: "no process of a stopped turn is alive once its receipt is posted, also while edits are refused",
        holds: survivors === 0,
        seen: `${survivors} survivors of ${receipt.count} stops`,
      },
    ],
  };
}

interface Work {
  question: FakeMessage;
  seconds: string;
}

/** @param person another one for each thread: one alone may not have so many turns at once */
async function beginWork({ slack }: ServedThread, person: string, channel: string): Promise<Work> {
  const { command, seconds } = uniqueSleep();
  const question = await slack.user(person).says(slack.channel(channel), `<@BOT> ${command}`);
  await running(command);
  return { question, seconds };
}

async function stopWork({ slack }: ServedThread, question: FakeMessage): Promise<number> {
  const startedAt = performance.now();
  await slack.user("bob").reacts("octagonal_sign", question);
  await slack.message(({ threadTs, text }) => threadTs === question.ts && text.includes("Stopped by bob"));
  return performance.now() - startedAt;
}
