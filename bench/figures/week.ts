import { join } from "node:path";
import { dearestPrice, lookUpModel } from "../../src/agent/llm/catalogue.ts";
import { computeCallUsage } from "../../src/agent/llm/cost.ts";
import { createTokenCounter } from "../../src/agent/context/tokens.ts";
import { startCandidate } from "../candidates/start.ts";
import { type Check, type Effort, type Figure, type Findings, type Goal, goal, reasonOf } from "../figure.ts";
import { arePeersThere } from "../peers.ts";
import { startWeekService, type WeekCosts } from "../week/week-service.ts";
import { writeWeek } from "../week/week.ts";
import { windowTokens } from "../week/window.ts";

const bench = join(import.meta.dirname, "..");
const heddle = "Heddle, the agent alone";
const candidates = { [heddle]: "candidates/heddle-loop.ts" };
const peers = { "pi agent": "peers/pi.ts", "AI SDK agent": "peers/ai-sdk.ts" };

/** Whose list price the tokens are multiplied with. */
const pricedAs = "openai/gpt-5.6-terra";

/** What a week of chat in one thread costs whoever pays for the tokens. */
export const week: Figure = {
  id: "week",
  title: "A week of chat",
  method: `One thread with 50 tasks in five days: bursts with pauses of minutes, an hour at times, and nights. For each the model makes up to six calls, whose results have 5 to 240 lines. The service has a window of ${windowTokens.toLocaleString("en")} tokens and refuses what is larger, and it has OpenAI's prompt cache as documented, with a clock of its own: prefixes from 1,024 tokens on, kept for ten minutes after their last use. pi's agent core and the AI SDK's agent keep the whole conversation and leave its size to whoever builds on them, so their week ends where the window does. Cost at the list price of ${pricedAs}. No figure here is a time.`,
  measure,
};

interface Week {
  costs: Readonly<WeekCosts>;
  /** What all had cost behind each task that was done, in dollars. */
  dollars: readonly number[];
}

async function measure(effort: Effort): Promise<Findings> {
  const missing: string[] = [];
  const counter = createTokenCounter();
  await counter.load();
  const tasks = writeWeek().slice(0, effort.pick(12, Number.MAX_SAFE_INTEGER));
  const modules = { ...candidates, ...((await arePeersThere(Object.keys(peers), missing)) && peers) };
  const weeks = new Map<string, Week>();
  for (const [name, module] of Object.entries(modules)) {
    try {
      weeks.set(name, await live(join(bench, module), tasks, counter.count));
    } catch (error) {
      missing.push(`${name}: ${reasonOf(error)}`);
    }
  }
  const own = weeks.get(heddle);
  const common = Math.min(...[...weeks.values()].map(({ dollars }) => dollars.length));
  return {
    table: {
      columns: [
        "",
        "tasks done",
        "requests",
        "of them summaries",
        "largest prompt",
        "prompt tokens",
        "from the cache",
        `cost of the first ${common} tasks`,
        "cost of all done",
      ],
      rows: [...weeks].map(([name, { costs, dollars }]) => [
        name,
        `${dollars.length} of ${tasks.length}`,
        String(costs.requests),
        String(costs.summaries),
        costs.largestPrompt.toLocaleString("en"),
        costs.promptTokens.toLocaleString("en"),
        `${((100 * costs.cachedTokens) / costs.promptTokens).toFixed(0)} %`,
        `$${(dollars[common - 1] ?? 0).toFixed(2)}`,
        `$${(dollars.at(-1) ?? 0).toFixed(2)}`,
      ]),
    },
    ...(own && { goals: [goalOf(own)], checks: [checkDone(own, tasks.length)] }),
    missing,
  };
}

async function live(
  module: string,
  tasks: ReturnType<typeof writeWeek>,
  count: (text: string) => number,
): Promise<Week> {
  const service = await startWeekService(count);
  const candidate = await startCandidate(module, service.baseUrl);
  try {
    const dollars: number[] = [];
    for (const turn of tasks) {
      service.begin(turn);
      const said = await candidate.say(turn.task).catch(reasonOf);
      if (said.trim() === turn.answer.trim()) dollars.push(priceOf(service.costs));
      else if (service.costs.refused > 0) break;
      else throw new Error(`Task ${dollars.length + 1} ended in "${said}".`);
    }
    return { costs: service.costs, dollars };
  } finally {
    await candidate.close();
    await service.close();
  }
}

/** At the list price without what is added for long prompts: no request is one, although the sum of a week is. */
function priceOf({ promptTokens, cachedTokens, outputTokens }: WeekCosts): number {
  const input = promptTokens - cachedTokens;
  const tokens = { input, cacheRead: cachedTokens, cacheWrite: 0, output: outputTokens };
  const { longPrompt: _, ...price } = lookUpModel(pricedAs).price ?? dearestPrice;
  return computeCallUsage(tokens, price).cost;
}

function goalOf({ costs }: Week): Goal {
  const what = "summaries per model request in a week of chat";
  return goal(what, costs.summaries / costs.requests, "", { atMost: 1 / 8 });
}

function checkDone({ dollars, costs }: Week, all: number): Check {
  const done = dollars.length;
  return {
    rule: "Heddle's week goes on beyond the window, and nothing is sent that the service refuses",
    holds: done === all && costs.refused === 0,
    seen: `${done} of ${all} tasks, ${costs.refused} refused`,
  };
}
