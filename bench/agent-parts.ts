import { z } from "zod";
import { createContextWindow } from "../src/agent/context/compaction.ts";
import { createMasker } from "../src/agent/secrets/mask-secrets.ts";
import { createTokenCounter } from "../src/agent/context/tokens.ts";
import { defaultTurnLimits } from "../src/agent/loop/limits.ts";
import type { Turn } from "../src/agent/loop/turn.ts";
import type { LanguageModel } from "../src/agent/model.ts";
import { createDispatcher } from "../src/agent/tools/dispatch/dispatch.ts";
import { createMemoryNotes } from "../src/agent/tools/memory-notes.ts";
import { defineTool, type Tool } from "../src/agent/tools/tool.ts";
import { add, addDescription, instructions } from "./candidates/candidate.ts";

const addTool = defineTool({
  name: "add",
  description: addDescription,
  input: z.object({ a: z.number(), b: z.number() }),
  effect: "read",
  run: async (input) => ({ status: "ok", text: add(input) }),
});

/** What every turn of a measurement shares: Heddle's own dispatcher and context keeping, and one tool, `add` by default. */
export async function agentParts(
  model: LanguageModel,
  { tool = addTool, system = instructions }: { tool?: Tool; system?: string } = {},
): Promise<Pick<Turn, "model" | "tools" | "system" | "context" | "limits" | "now">> {
  const counter = createTokenCounter();
  await counter.load();
  return {
    model,
    system,
    tools: createDispatcher({
      tools: [tool],
      services: { notes: createMemoryNotes({ author: "bench", now: Date.now }), now: Date.now },
      masker: createMasker(["a-secret-to-look-for"]),
      onError(_trace, error) {
        throw error;
      },
    }),
    context: createContextWindow({ model, counter }),
    limits: { ...defaultTurnLimits, steps: 1_000 },
    now: Date.now,
  };
}
