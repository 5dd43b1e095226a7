import { says } from "../../tests/fakes/anthropic-replies.ts";
import { askInSlack } from "../ask.ts";
import { type Effort, type Figure, type Findings, goal, ms } from "../figure.ts";
import { spread } from "../measure.ts";
import { serveThread } from "../served-thread.ts";

/** How soon people see that they were heard. */
export const mention: Figure = {
  id: "mention",
  title: "From a mention",
  method:
    "The program as one process, with a Slack stand-in on the loopback interface. Mentions come one after another, each starting a thread in a different channel so that no rate limit of Slack's interferes. 👀 is timed when Slack has received the reaction, the model request when the service has read it, the answer when Slack has received the message.",
  measure,
};

async function measure(effort: Effort): Promise<Findings> {
  await using served = await serveThread(() => says("Here is the answer."));
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
  const [eyes, request, answer] = [spread(times.eyes), spread(times.request), spread(times.answer)];

  return {
    table: {
      columns: ["from a mention to", "p50", "p95"],
      rows: [
        ["👀", ms(eyes.p50), ms(eyes.p95)],
        ["the model request", ms(request.p50), ms(request.p95)],
        ["the answer (instant model)", ms(answer.p50), ms(answer.p95)],
      ],
    },
    goals: [
      goal("mention to 👀, p50", eyes.p50, "ms", { below: 15 }),
      goal("mention to the model request, p50", request.p50, "ms", { below: 20 }),
    ],
  };
}
