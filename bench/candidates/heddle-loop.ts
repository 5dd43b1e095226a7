/** Heddle's agent as a library: the loop, its tools and its context keeping, without storage and display. */
import { replay } from "../../src/agent/history.ts";
import { createOpenAIChatModel } from "../../src/agent/llm/openai/chat.ts";
import { runTurn } from "../../src/agent/loop/run-turn.ts";
import { agentParts } from "../agent-parts.ts";
import { asked, journalOf } from "../journal.ts";
import { apiKey, type Open } from "./candidate.ts";

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
