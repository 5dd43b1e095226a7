import { createTokenCounter } from "../../src/agent/context/tokens.ts";
import { says } from "../../tests/fakes/anthropic-replies.ts";
import { askInSlack } from "../ask.ts";
import type { Figure, Findings } from "../figure.ts";
import { serveThread } from "../served-thread.ts";

/** What goes with every request before anybody has said anything. */
export const fixedPart: Figure = {
  id: "fixed",
  title: "The fixed part of a request",
  method:
    "o200k tokens of the system prompt and of the tool definitions as JSON in the first request after a mention, as a model service receives them; once with the skills that ship and once without any.",
  measure,
};

async function measure(): Promise<Findings> {
  const { count } = await loadCounter();
  const plain = await readFirstRequest({ skills: { folders: [] } });
  const whole = await readFirstRequest({});
  const parts = [
    ["system prompt", count(plain.system)],
    ["skills", count(whole.system) - count(plain.system)],
    [`${whole.tools.length} tools`, count(JSON.stringify(whole.tools))],
  ] as const;
  const sum = parts.reduce((all, [, tokens]) => all + tokens, 0);
  return {
    table: {
      columns: ["part", "tokens"],
      rows: [...parts, ["all", sum] as const].map(([name, tokens]) => [name, tokens.toLocaleString("en")]),
    },
  };
}

async function loadCounter() {
  const counter = createTokenCounter();
  await counter.load();
  return counter;
}

async function readFirstRequest(settings: object): Promise<{ system: string; tools: readonly unknown[] }> {
  await using served = await serveThread(() => says("Here is the answer."), settings);
  await served.heddle();
  await askInSlack(served, "<@BOT> hello", "talk");
  const [first] = served.model.bodies;
  if (!first) throw new Error("No request came.");
  return { system: JSON.stringify(first.system), tools: first.tools ?? [] };
}
