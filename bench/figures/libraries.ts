import { join } from "node:path";
import { measuredTurn, stepsInTurn } from "../candidates/measured-turn.ts";
import { type Running, startCandidate } from "../candidates/start.ts";
import { type Effort, type Figure, type Findings, goal, ms, quantity, ratio, reasonOf } from "../figure.ts";
import { type InstantModel, startInstantModel } from "../instant-model.ts";
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

/** Each in processes of its own, one after the other: V8 compiles the same code better in one than in another. */
const runs = 5;

/** The same turns done by Heddle, by other agent libraries, and by the least code that does them at all. */
export const libraries: Figure = {
  id: "libraries",
  title: "A step beside other agent libraries",
  method: `From one model request to the next, as the model service sees it. One service on the loopback interface answers immediately, over chat completions with streaming. Each library runs in its own process with the same instructions and the same tool; runs of the libraries are interleaved, in turns of ${stepsInTurn} steps. All of this is done ${runs} times with new processes, and each figure is the median of these. The floor is a loop of some forty lines around the OpenAI SDK that stores and shows nothing; of the others, only "Heddle, with journal and progress" stores each event (in Redis) before it continues and shows it in a chat.`,
  measure,
};

/** What one process of a library took. */
interface Measured {
  readyMs: number;
  /** Bytes. */
  memory: number;
  /** By the messages before. */
  steps: Map<number, Spread>;
}

async function measure(effort: Effort): Promise<Findings> {
  const missing: string[] = [];
  const service = await startInstantModel();
  try {
    const modules = { ...ours, ...((await arePeersThere(Object.keys(peers), missing)) && peers) };
    const measured: Map<string, Measured>[] = [];
    for (let run = 0; run < effort.pick(1, runs); run += 1) {
      measured.push(await measureOnce(service, modules, effort, missing));
    }
    return { ...present(measured), missing: [...new Set(missing)] };
  } finally {
    await service.close();
  }
}

/** @param missing gets what could not be run, and why */
async function measureOnce(
  service: InstantModel,
  modules: Readonly<Record<string, string>>,
  effort: Effort,
  missing: string[],
): Promise<Map<string, Measured>> {
  const running = new Map<string, Running>();
  try {
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
    const steps = new Map([...running.keys()].map((name) => [name, new Map<number, Spread>()]));
    for (const history of histories) {
      const samples = await interleave(
        [...running].map(([name, candidate]) => ({
          name,
          run: () => measuredTurn(service, candidate, history),
        })),
        // As in a worker that has served for a while: V8 compiles what runs often, and most of it again before a thousand
        // steps are done.
        { rounds: effort.pick(2, 10), warmUp: effort.pick(1, history === histories[0] ? 60 : 25) },
      );
      for (const [name, values] of samples) steps.get(name)?.set(history, spread(values));
    }
    return new Map(
      [...running].map(([name, candidate]) => [
        name,
        { readyMs: candidate.readyMs, memory: candidate.memory(), steps: steps.get(name) ?? new Map() },
      ]),
    );
  } finally {
    await Promise.all([...running.values()].map((candidate) => candidate.close()));
  }
}

function present(measured: readonly Map<string, Measured>[]): Pick<Findings, "table" | "goals" | "charts"> {
  const median = (read: (run: ReadonlyMap<string, Measured>) => number | undefined) =>
    spread(measured.map((run) => read(run) ?? Number.NaN)).p50;
  const step = (name: string, history: number, quantile: "p50" | "p95") =>
    median((run) => run.get(name)?.steps.get(history)?.[quantile]);
  const p50 = (name: string, history: number) => step(name, history, "p50");
  // Within each run, so that what else the machine did then is taken off.
  const above = (name: string) =>
    median((run) => {
      const [own, least] = [name, floor].map((of) => run.get(of)?.steps.get(histories[0])?.p50);
      return own === undefined || least === undefined ? undefined : own - least;
    });
  // One that failed in a run has no median.
  const names = [...(measured[0]?.keys() ?? [])].filter((name) => measured.every((run) => run.has(name)));
  const isPi = (name: string) => name === "pi agent";
  const aims: Record<string, readonly string[]> = {
    [alone]: names.filter((name) => name in peers),
    [whole]: names.filter((name) => name in peers && !isPi(name)),
  };
  const goals = Object.entries(aims)
    .filter(([name, others]) => others.length > 0 && names.includes(name))
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
      rows: names.map((name) => [
        name,
        ...histories.flatMap((history) => [
          ms(p50(name, history)),
          ms(step(name, history, "p95")),
          ratio(p50(name, history) / p50(floor, history)),
        ]),
        ms(median((run) => run.get(name)?.readyMs)),
        quantity(median((run) => run.get(name)?.memory) / 1e6, "MB"),
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
