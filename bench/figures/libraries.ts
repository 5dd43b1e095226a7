import { join } from "node:path";
import { measuredTurn, stepsInTurn } from "../candidates/measured-turn.ts";
import { type Running, startCandidate } from "../candidates/start.ts";
import { type Effort, type Figure, type Findings, goal, ms, quantity, ratio, reasonOf } from "../figure.ts";
import { startInstantModel } from "../instant-model.ts";
import { interleave, type Spread, spread } from "../measure.ts";
import { arePeersThere } from "../peers.ts";

const bench = join(import.meta.dirname, "..");
const floor = "bare SDK loop";
const alone = "Heddle, the agent alone";
const whole = "Heddle, with journal and progress";

const ours = {
  [floor]: "candidates/bare-loop.ts",
  [alone]: "candidates/heddle-loop.ts",
  [whole]: "candidates/heddle.ts",
};
const peers = {
  "OpenAI Agents SDK": "peers/openai-agents.ts",
  "AI SDK agent": "peers/ai-sdk.ts",
  "LangGraph agent": "peers/langgraph.ts",
  "pi agent": "peers/pi.ts",
};

const histories = [10, 1_000] as const;

/** The same turns done by Heddle, by other agent libraries, and by the least code that does them at all. */
export const libraries: Figure = {
  id: "libraries",
  title: "A step beside other agent libraries",
  method: `From one model request to the next, as the model service sees it. One service on the loopback interface answers immediately, over chat completions with streaming. Each library runs in its own process with the same instructions and the same tool; runs of the libraries are interleaved, in turns of ${stepsInTurn} steps. The floor is a loop of some forty lines around the OpenAI SDK that stores and shows nothing; of the others, only "Heddle, with journal and progress" stores each event (in Redis) before it continues and shows it in a chat.`,
  measure,
};

async function measure(effort: Effort): Promise<Findings> {
  const missing: string[] = [];
  const service = await startInstantModel();
  const running = new Map<string, Running>();
  try {
    const modules = { ...ours, ...((await arePeersThere(Object.keys(peers), missing)) && peers) };
    for (const [name, module] of Object.entries(modules)) {
      try {
        const candidate = await startCandidate(join(bench, module), service.baseUrl);
        running.set(name, candidate);
        await measuredTurn(service, candidate, histories[0]);
      } catch (error) {
        missing.push(`${name}: ${reasonOf(error)}`);
        await running.get(name)?.close();
        running.delete(name);
      }
    }
    const results = new Map<number, Map<string, Spread>>();
    for (const history of histories) {
      const samples = await interleave(
        [...running].map(([name, candidate]) => ({
          name,
          run: () => measuredTurn(service, candidate, history),
        })),
        // As in a worker that has served for a while: V8 compiles what runs often.
        { rounds: effort.pick(2, 30), warmUp: effort.pick(1, 25) },
      );
      results.set(history, new Map([...samples].map(([name, values]) => [name, spread(values)])));
    }
    return { ...present(running, results), missing };
  } finally {
    await Promise.all([...running.values()].map((candidate) => candidate.close()));
    await service.close();
  }
}

function present(
  running: ReadonlyMap<string, Running>,
  results: ReadonlyMap<number, ReadonlyMap<string, Spread>>,
): Pick<Findings, "table" | "goals" | "charts"> {
  const p50 = (name: string, history: number) => results.get(history)?.get(name)?.p50 ?? Number.NaN;
  const above = (name: string) => p50(name, histories[0]) - p50(floor, histories[0]);
  const names = [...running.keys()];
  const isPi = (name: string) => name === "pi agent";
  const aims: Record<string, readonly string[]> = {
    [alone]: names.filter((name) => name in peers),
    [whole]: names.filter((name) => name in peers && !isPi(name)),
  };
  const goals = Object.entries(aims)
    .filter(([name, others]) => others.length > 0 && running.has(name))
    .map(([name, others]) => {
      const least = Math.min(...others.map(above));
      const what = `own cost of a step above the floor: ${name}`;
      return goal(what, above(name), "ms", name === alone ? { atMost: least } : { below: least });
    });
  return {
    table: {
      columns: [
        "",
        ...histories.flatMap((history) => [`p50 at ${history}`, `p95 at ${history}`, "vs. floor"]),
        "start",
        "memory",
      ],
      rows: [...running].map(([name, candidate]) => [
        name,
        ...histories.flatMap((history) => [
          ms(p50(name, history)),
          ms(results.get(history)?.get(name)?.p95 ?? Number.NaN),
          ratio(p50(name, history) / p50(floor, history)),
        ]),
        ms(candidate.readyMs),
        quantity(candidate.memory() / 1e6, "MB"),
      ]),
    },
    goals,
    charts: histories.map((history) => ({
      kind: "bars",
      name: `libraries-${history}`,
      title: `A step with ${history.toLocaleString("en")} messages before, p50`,
      unit: "ms",
      bars: names.map((name) => ({ name, value: p50(name, history), ours: name.startsWith("Heddle") })),
    })),
  };
}
