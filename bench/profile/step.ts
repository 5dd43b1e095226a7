import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { measuredTurn, stepsInTurn } from "../candidates/measured-turn.ts";
import { startCandidate } from "../candidates/start.ts";
import { startInstantModel } from "../instant-model.ts";
import { summarize } from "./areas.ts";
import type { Recording } from "./recording.ts";
import { costTables, type Section } from "./section.ts";

const candidates = [
  ["the bare SDK loop", "bare-loop.ts"],
  ["the agent alone", "heddle-loop.ts"],
  ["with journal and progress", "heddle.ts"],
] as const;

/** Turns that V8 gets to know the code by, and turns that are recorded. */
const [warmUp, turns] = [25, 40];
/** Messages behind each turn. */
const history = 10;

/** A step that only adds two numbers, as in `npm run bench -- --only libraries`: one section for each candidate. */
export async function profileSteps(): Promise<Section[]> {
  const folder = await mkdtemp(join(tmpdir(), "heddle-profile-"));
  const service = await startInstantModel();
  try {
    const sections: Section[] = [];
    for (const [name, module] of candidates) {
      const candidate = await startCandidate(
        join(import.meta.dirname, "../candidates", module),
        service.baseUrl,
      );
      try {
        for (let turn = 0; turn < warmUp; turn += 1) await measuredTurn(service, candidate, history);
        await candidate.record("begin");
        for (let turn = 0; turn < turns; turn += 1) await measuredTurn(service, candidate, history);
        const to = join(folder, module);
        await candidate.record({ to });
        // Written by process.ts.
        const costs = summarize(JSON.parse(readFileSync(to, "utf8")) as Recording);
        sections.push({
          title: `A step: ${name}`,
          method: `Turns of ${stepsInTurn} steps over chat completions with a service on the loopback interface that answers immediately; one process that does nothing else, whose processor time is counted, its Redis not. The start and the end of a turn are shared out among its steps.`,
          tables: costTables(costs, "step", turns * stepsInTurn),
        });
      } finally {
        await candidate.close();
      }
    }
    return sections;
  } finally {
    await service.close();
    await rm(folder, { recursive: true });
  }
}
