/** Heddle's agent as a library: the loop, its tools and its context keeping, without storage and display. */
import { z } from "zod";
import { replay } from "../../src/agent/journal/replay.ts";
import { toRecord } from "../../src/agent/journal/history.ts";
import { createOpenAIChatModel } from "../../src/agent/llm/openai/chat.ts";
import type { JournalRecord } from "../../src/agent/journal/journal.ts";
import { runTurn } from "../../src/agent/loop/run-turn.ts";
import { defineTool } from "../../src/agent/tools/tool.ts";
import { agentParts } from "../agent-parts.ts";
import { asked, journalOf } from "../journal.ts";
import { lookAt } from "../week/week.ts";
import { windowTokens } from "../week/window.ts";
import { apiKey, type Converse, lookDescription, lookInstructions, type Open } from "./candidate.ts";

export const open: Open = async ({ baseUrl, model: name }) => {
  const limits = { contextTokens: 1_000_000, maxOutputTokens: 8_000, images: false };
  const parts = await agentParts(createOpenAIChatModel({ model: name, apiKey, baseUrl, limits }));
  return {
    async ask(history, task) {
      const events = runTurn({
        ...parts,
        id: "turn",
        history: replay([
          ...journalOf(history),
          { type: "turn-start", turn: "turn", at: Date.now() },
          asked(task),
        ]),
        followUps: () => Promise.resolve([]),
        signal: new AbortController().signal,
      });
      for (;;) {
        const next = await events.next();
        if (next.done) return "text" in next.value ? next.value.text : next.value.kind;
      }
    },
  };
};

const lookTool = defineTool({
  name: "look",
  description: lookDescription,
  input: z.object({ file: z.string(), lines: z.number() }),
  effect: "read",
  run: async (input) => ({ status: "ok", text: lookAt(input) }),
});

export const converse: Converse = async ({ baseUrl, model: name }) => {
  const limits = { contextTokens: windowTokens, maxOutputTokens: 8_000, images: false };
  const model = createOpenAIChatModel({ model: name, apiKey, baseUrl, limits });
  const parts = await agentParts(model, { tool: lookTool, system: lookInstructions });
  const journal: JournalRecord[] = [];
  return {
    async say(task) {
      const turn = `turn-${journal.length}`;
      journal.push({ type: "turn-start", turn, at: Date.now() }, asked(task));
      const events = runTurn({
        ...parts,
        id: turn,
        history: replay(journal),
        followUps: () => Promise.resolve([]),
        signal: new AbortController().signal,
      });
      for (;;) {
        const next = await events.next();
        if (next.done) {
          journal.push({ type: "turn-end", turn, outcome: next.value, at: Date.now() });
          if (next.value.kind !== "answered") throw new Error(JSON.stringify(next.value));
          return next.value.text;
        }
        const record = toRecord(next.value, Date.now());
        if (record) journal.push(record);
      }
    },
  };
};
