import { runs, says } from "../../tests/fakes/anthropic-replies.ts";
import { askInSlack } from "../ask.ts";
import type { Effort, Figure, Findings } from "../figure.ts";
import { serveThread } from "../served-thread.ts";

/** How much of Slack's budget a turn uses. */
export const calls: Figure = {
  id: "calls",
  title: "Slack API calls in a turn",
  method:
    "Calls that the Slack stand-in received from the mention to the end of the turn, by method: for an immediate answer, and for turns that first run commands of one second each.",
  measure,
};

async function measure(effort: Effort): Promise<Findings> {
  await using served = await serveThread((said) => {
    const left = Number(/(\d+) commands? left/.exec(said)?.[1] ?? 0);
    return left > 0 ? runs(`sleep 1; echo ${left - 1} commands left`) : says("Here is the answer.");
  });
  await served.heddle();
  const turns: { task: string; methods: Map<string, number>; requests: number }[] = [];
  for (const commands of effort.pick([0, 1], [0, 1, 10])) {
    const before = { calls: served.slack.calls.length, requests: served.model.bodies.length };
    await askInSlack(served, `<@BOT> ${commands} commands left`, `calls-${commands}`);
    const made = Map.groupBy(served.slack.calls.slice(before.calls), ({ method }) => method);
    turns.push({
      task: commands === 0 ? "an answer" : commands === 1 ? "1 command" : `${commands} commands`,
      methods: new Map([...made].map(([method, { length }]) => [method, length])),
      requests: served.model.bodies.length - before.requests,
    });
  }
  const methods = new Set(turns.flatMap((turn) => [...turn.methods.keys()]));
  const total = (turn: (typeof turns)[number]) =>
    [...turn.methods.values()].reduce((sum, count) => sum + count, 0);
  return {
    table: {
      columns: ["", ...turns.map(({ task }) => task)],
      rows: [
        ...[...methods].map((method) => [
          method,
          ...turns.map((turn) => String(turn.methods.get(method) ?? 0)),
        ]),
        ["all calls", ...turns.map((turn) => String(total(turn)))],
        ["model requests", ...turns.map(({ requests }) => String(requests))],
      ],
    },
  };
}
