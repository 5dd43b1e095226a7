/** The agent as a library, without chat, Redis or sandbox. Run it: node examples/library.ts */
import { z } from "zod";
import * as heddle from "../src/agent/index.ts";

const weather = heddle.defineTool({
  name: "weather",
  description: "The weather in a town right now.",
  input: z.object({ town: z.string() }),
  effect: "external",
  run: async ({ town }) => ({ status: "ok", text: `21 °C and sunny in ${town}` }),
});
const tools = heddle.createDispatcher({
  tools: [weather],
  services: { notes: heddle.createMemoryNotes({ author: "Ada", now: Date.now }), now: Date.now },
  masker: heddle.createMasker([]), // whatever no model may see
  onError: console.error,
});
const demo = { scripts: `${import.meta.dirname}/library` };
const model = await heddle.openModel({ provider: "demo" }, { demo }); // or another one, with a key
const author = { id: "U1", name: "Ada" };
const asked = { role: "user", id: "m1", author, text: "Do I need a coat in Oslo?", at: Date.now() } as const;
const journal: heddle.JournalRecord[] = [
  { type: "turn-start", turn: "t1", at: Date.now() },
  { type: "user", message: asked },
];
const turn = heddle.runTurn({
  id: "t1",
  history: heddle.replay(journal),
  model,
  tools,
  system: "Be brief.",
  context: heddle.createContextWindow({ model, counter: heddle.createTokenCounter() }),
  signal: new AbortController().signal,
});
let next = await turn.next();
for (; !next.done; next = await turn.next()) {
  const record = heddle.toRecord(next.value, Date.now());
  if (record) journal.push(record); // what is stored before the loop goes on can be resumed
  if (next.value.type === "tool-start") console.log(`… ${next.value.call.name}`);
}
journal.push({ type: "turn-end", turn: "t1", outcome: next.value, at: Date.now() });
console.log(next.value.kind === "answered" ? next.value.text : next.value);
