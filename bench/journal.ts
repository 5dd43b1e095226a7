import type { JournalRecord } from "../src/agent/journal/journal.ts";
import { noUsage } from "../src/agent/model.ts";
import type { Said } from "./candidates/candidate.ts";

const author = { id: "U1", name: "Ada" };
let messages = 0;

/** A person's message as the journal has it. */
export function asked(text: string): Extract<JournalRecord, { type: "user" }> {
  messages += 1;
  return { type: "user", message: { role: "user", id: `m${messages}`, author, text, at: messages } };
}

/** The journal of a session in which this was said, one turn for each answer. */
export function journalOf(history: readonly Said[]): JournalRecord[] {
  return history.flatMap(({ role, text }, index): JournalRecord[] => {
    const turn = `t${index - (index % 2)}`;
    if (role === "user") return [{ type: "turn-start", turn, at: index }, asked(text)];
    const message = {
      role: "assistant",
      id: `a${index}`,
      parts: [{ type: "text", text }],
      model: "bench/none",
      stop: "end",
    } as const;
    return [
      {
        type: "assistant",
        step: 1,
        message: { ...message, parts: [...message.parts] },
        usage: noUsage,
        at: index,
      },
      { type: "turn-end", turn, outcome: { kind: "answered", text, steps: 1, usage: noUsage }, at: index },
    ];
  });
}
