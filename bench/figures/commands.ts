import { runs, says } from "../../tests/fakes/anthropic-replies.ts";
import { type SentCommand, watchCommands } from "../../tests/fakes/redis-commands.ts";
import { askInSlack } from "../ask.ts";
import { type Effort, type Figure, type Findings, goal } from "../figure.ts";
import { spread } from "../measure.ts";
import { serveThread, type ServedThread } from "../served-thread.ts";

/** What a turn asks of Redis. */
export const commands: Figure = {
  id: "commands",
  title: "Redis commands",
  method:
    "Commands that the program sends to Redis, as MONITOR shows them; commands that a script runs are not counted. From a mention that starts a thread in a known channel to the model request, and from one model request of a turn to the next with one sandboxed command in between. BullMQ's share is listed separately.",
  measure,
};

async function measure(effort: Effort): Promise<Findings> {
  await using served = await serveThread((said) => {
    const left = Number(/(\d+) commands? left/.exec(said)?.[1] ?? 0);
    return left > 0 ? runs(`echo ${left - 1} commands left`) : says("Here is the answer.");
  });
  await served.heddle();
  const watch = await watchCommands(served.redis);
  try {
    // What is known of the channel and the person afterwards is not asked again.
    await askInSlack(served, "<@BOT> hello", "talk");
    const mentions: SentCommand[][] = [];
    for (let round = 0; round < effort.pick(3, 15); round += 1) {
      mentions.push(...(await untilRequests(served, "hello", 1, () => watch.take())));
    }
    const steps = await untilRequests(served, "6 commands left", 7, () => watch.take());
    // The first goes from the mention, and in the second the progress message is posted.
    const counts = { mention: count(mentions), step: count(steps.slice(2)) };
    return {
      table: {
        columns: ["", "p50", "BullMQ's share", "max"],
        rows: [
          ["from a mention to the model request", ...rowOf(counts.mention)],
          ["a step with one call", ...rowOf(counts.step)],
        ],
      },
      goals: [
        goal("Redis commands from a mention to the model request, p50", counts.mention.all.p50, "", {
          atMost: 25,
        }),
        goal("Redis commands of a step with one call, p50", counts.step.all.p50, "", { atMost: 6 }),
      ],
    };
  } finally {
    watch.close();
  }
}

/** What was sent until each of the turn's model requests. */
async function untilRequests(
  served: ServedThread,
  text: string,
  requests: number,
  take: () => Promise<SentCommand[]>,
): Promise<SentCommand[][]> {
  await take();
  const first = served.model.requests.length + 1;
  const asked = askInSlack(served, `<@BOT> ${text}`, "talk");
  const sent: SentCommand[][] = [];
  for (let request = first; request < first + requests; request += 1) {
    await served.model.request(request);
    sent.push(await take());
  }
  await asked;
  return sent;
}

function count(samples: readonly (readonly SentCommand[])[]) {
  return {
    all: spread(samples.map(({ length }) => length)),
    bullMq: spread(samples.map((sent) => sent.filter(({ isBullMq }) => isBullMq).length)),
  };
}

function rowOf({ all, bullMq }: ReturnType<typeof count>): string[] {
  return [all.p50, bullMq.p50, all.max].map(String);
}
