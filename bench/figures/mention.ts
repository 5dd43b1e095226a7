import { setTimeout as delay } from "node:timers/promises";
import { says } from "../../tests/fakes/anthropic-replies.ts";
import { askInSlack } from "../ask.ts";
import { type Effort, type Figure, type Findings, goal, ms } from "../figure.ts";
import { spread } from "../measure.ts";
import { type ServedThread, serveThread } from "../served-thread.ts";

/** How soon people see that they were heard. */
export const mention: Figure = {
  id: "mention",
  title: "From a mention",
  method:
    "The program as one process, with a Slack stand-in on the loopback interface. Mentions come one after another, each starting a thread in a different channel so that no rate limit of Slack's interferes. 👀 is timed when Slack has received the reaction, the model request when the service has read it, the answer when Slack has received the message. The status line is timed in threads of their own, with a model that takes 0.3 s: an answer that comes before it needs none.",
  measure,
};

async function measure(effort: Effort): Promise<Findings> {
  await using served = await serveThread(async (said) => {
    if (said.includes("take your time")) await delay(thinkingMs);
    return says("Here is the answer.");
  });
  await served.heddle();
  const times = { eyes: [] as number[], request: [] as number[], answer: [] as number[] };
  const warmUp = effort.pick(2, 10);
  for (let round = 0; round < warmUp + effort.pick(8, 100); round += 1) {
    const seen = await askInSlack(served, "<@BOT> hello", `talk-${round}`);
    if (round < warmUp) continue;
    times.eyes.push(seen.eyes);
    times.request.push(seen.request);
    times.answer.push(seen.answer);
  }
  const statuses: number[] = [];
  for (let round = 0; round < effort.pick(4, 30); round += 1)
    statuses.push(await timeStatus(served, `status-${round}`));
  const status = spread(statuses);
  const [eyes, request, answer] = [spread(times.eyes), spread(times.request), spread(times.answer)];

  return {
    table: {
      columns: ["from a mention to", "p50", "p95"],
      rows: [
        ["👀", ms(eyes.p50), ms(eyes.p95)],
        ["the status line (model of 0.3 s)", ms(status.p50), ms(status.p95)],
        ["the model request", ms(request.p50), ms(request.p95)],
        ["the answer (instant model)", ms(answer.p50), ms(answer.p95)],
      ],
    },
    goals: [
      goal("mention to the status line, p50", status.p50, "ms", { below: 200 }),
      goal("mention to 👀, p50", eyes.p50, "ms", { below: 15 }),
      goal("mention to the model request, p50", request.p50, "ms", { below: 20 }),
    ],
  };
}

const thinkingMs = 300;

/** From the mention to the moment in which Slack has the line that says what is going on. */
async function timeStatus(served: ServedThread, channel: string): Promise<number> {
  const { slack } = served;
  const place = slack.channel(channel);
  const startedAt = performance.now();
  const question = await slack.user("ada").says(place, "<@BOT> take your time");
  await slack.until(() => slack.status(place, question.ts) !== undefined);
  const seen = performance.now() - startedAt;
  await slack.until(() => question.reactions.has("white_check_mark"));
  return seen;
}
