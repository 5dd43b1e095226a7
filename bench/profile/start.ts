import { says } from "../../tests/fakes/anthropic-replies.ts";
import { workerOf } from "../process-tree.ts";
import { serveThread } from "../served-thread.ts";
import { endRecording, recorderEnvironment } from "./recorded-program.ts";
import { costTables, type Section } from "./section.ts";

/** From the first line of the served process until it is ready. */
export async function profileStart(): Promise<Section> {
  await using served = await serveThread(() => says("Not asked."));
  // So that compiled code is kept already.
  const first = await served.heddle();
  first.signal("SIGTERM");
  await first.ended;
  const program = await served.heddle([], recorderEnvironment(served, "start"));
  const costs = await endRecording(program, workerOf(program.pid), 1);
  return {
    title: "A start",
    method:
      "Gateway and worker in one process with Slack, a model service and a Redis, with compiled code kept from an earlier start: the served process from its first line to “Heddle is ready”. Its supervisor, which starts first, is not in it.",
    tables: costTables(costs, "start", 1),
  };
}
