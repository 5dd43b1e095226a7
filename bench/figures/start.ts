import type { Program } from "../../tests/e2e/program.ts";
import { says } from "../../tests/fakes/anthropic-replies.ts";
import { type Effort, type Figure, type Findings, goal, ms } from "../figure.ts";
import { interleave, spread } from "../measure.ts";
import { serveThread, type ServedThread } from "../served-thread.ts";

const withSlack = "with Slack, a model service and a Redis";
const coldCache = "with Slack, without the compile cache";
const alone = "with the demo model and its own Redis";

/** How long until the program is ready. */
export const start: Figure = {
  id: "start",
  title: "Start",
  method:
    "From the start of the process to “Heddle is ready”, including the sandbox probe; the variants are interleaved. As with `npm start`, Node caches compiled code between runs (`NODE_COMPILE_CACHE`), except where stated.",
  measure,
};

async function measure(effort: Effort): Promise<Findings> {
  await using served = await serveThread(() => says("Not asked."));
  const { NODE_COMPILE_CACHE = "" } = served.environment;
  const environments = {
    [withSlack]: served.environment,
    [alone]: { HEDDLE_MODEL: "demo", NODE_COMPILE_CACHE },
    // Leaving the variable out would not do: programs that tests start have one of their own.
    ...(!effort.quick && { [coldCache]: { ...served.environment, NODE_DISABLE_COMPILE_CACHE: "1" } }),
  };
  const samples = await interleave(
    Object.entries(environments).map(([name, env]) => ({
      name,
      run: async () => [await oneStart(served, env)],
    })),
    { rounds: effort.pick(2, 15), warmUp: 1 },
  );
  const spreads = [...samples].map(([name, values]) => ({ name, ...spread(values) }));
  const usual = spreads.find(({ name }) => name === withSlack)?.p50 ?? Number.NaN;
  return {
    table: {
      columns: ["", "starts", "p50", "max"],
      rows: spreads.map(({ name, count, p50, max }) => [name, String(count), ms(p50), ms(max)]),
    },
    goals: [goal("process start to ready, p50", usual, "ms", { below: 600 })],
  };
}

async function oneStart({ place }: ServedThread, env: Record<string, string>): Promise<number> {
  const startedAt = performance.now();
  const program: Program = place.start(["start"], env);
  await program.line(/Heddle is ready/);
  const took = performance.now() - startedAt;
  program.signal("SIGTERM");
  await program.ended;
  return took;
}
