import { expect, test } from "vitest";
import type { JournalRecord } from "../../../src/agent/journal/journal.ts";
import { type LanguageModel, type ModelRequest, noUsage } from "../../../src/agent/model.ts";
import { scriptedModel } from "../../fakes/scripted-model.ts";
import { counter, run, say, tool } from "../turn.ts";

await counter.load();

const skill = (name: string) => `<skill name="${name}">\n${`${name} says do. `.repeat(1_250)}\n</skill>`;

test("A window that three skills would fill answers every turn, with the newest skill whole and the others named", async () => {
  let loads = 0;
  const { model, requests } = scriptedModel(({ system, messages }: ModelRequest) => {
    if (system !== "system") return { text: "## Done\nMuch." };
    return messages.at(-1)?.role === "tool" ? { text: "Done." } : { calls: [{ name: "get_skill" }] };
  });
  const small: LanguageModel = {
    ...model,
    limits: { ...model.limits, contextTokens: 24_000, maxOutputTokens: 8_192 },
    async *stream(request, signal) {
      // What the script says of tokens is no count of them.
      for await (const event of model.stream(request, signal))
        yield event.type === "done" ? { ...event, usage: noUsage } : event;
    },
  };
  const tools = [tool("get_skill", "read", async () => skill(`s${++loads}`))];
  let journal: JournalRecord[] = [];
  for (let turn = 1; turn <= 12; turn += 1) {
    journal.push(
      { type: "turn-start", turn: `t${turn}`, at: turn },
      { type: "user", message: say(`Wish ${turn}`, turn) },
    );
    const { outcome, journal: after } = await run({ model: small, tools, journal });
    expect(outcome).toMatchObject({ kind: "answered", text: "Done." });
    journal = [...after, { type: "turn-end", turn: `t${turn}`, outcome, at: turn }];
    const seen = requests.findLast(({ system }) => system === "system")?.messages ?? [];
    const text = seen.map((message) => (message.role === "assistant" ? "" : message.text)).join("\n");
    expect(text.includes(skill(`s${turn}`))).toBe(true);
    for (let older = 1; older < turn; older += 1) expect(new RegExp(`\\bs${older}\\b`).test(text)).toBe(true);
  }
}, 20_000);
