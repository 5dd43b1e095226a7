import { Writable } from "node:stream";
import { pino } from "pino";
import { expect, test } from "vitest";
import { noChanges } from "../../src/queue/turns/contracts.ts";
import { noUsage } from "../../src/agent/model.ts";
import { turnLogObserver } from "../../src/telemetry/turn-log.ts";
import { newTurn, noDisplay } from "./no-display.ts";

test("Every line of a turn names its thread, its turn and its step; a failure says why, and nothing says what was written", () => {
  const lines: Record<string, unknown>[] = [];
  const to = new Writable({
    write(chunk, _encoding, done) {
      lines.push(JSON.parse(String(chunk)) as Record<string, unknown>);
      done();
    },
  });
  const { display } = turnLogObserver(pino({ level: "trace", base: null }, to));
  const shown = display?.(noDisplay, "slack:T:C:1", newTurn) ?? noDisplay;
  const author = { id: "U1", name: "Ada" };
  shown.took([{ role: "user", id: "m1", author, text: "what was asked", at: 1 }]);
  shown.event({ type: "step-start", step: 1 });
  shown.event({ type: "retry", step: 1, attempt: 2, delayMs: 5, reason: "The model service is overloaded." });
  shown.event({ type: "notice", text: "Going on with anthropic/claude-haiku-4-5." });
  const call = { id: "c1", name: "bash", input: { command: "what was run" } };
  shown.event({ type: "tool-start", step: 1, call });
  const message = { role: "tool", callId: "c1", name: "bash", status: "ok", text: "what it said" } as const;
  shown.event({ type: "tool-end", step: 1, message, durationMs: 3 });
  const outcome = { kind: "model-error", text: "No model answers.", steps: 1, usage: noUsage } as const;
  shown.closing({ outcome, durationMs: 9, files: noChanges, withdrawn: [] });

  expect(lines.map(({ msg }) => msg)).toEqual([
    "the turn begins",
    "the model is asked",
    "The model service is overloaded.",
    "Going on with anthropic/claude-haiku-4-5.",
    "a tool starts",
    "a tool ended",
    "the turn ended",
  ]);
  const [begins, ...others] = lines;
  expect(begins).toMatchObject({ thread: "slack:T:C:1", turn: newTurn.id });
  for (const line of others) expect(line).toMatchObject({ thread: "slack:T:C:1", turn: newTurn.id, step: 1 });
  expect(lines.at(-1)).toMatchObject({ outcome: "model-error", problem: "No model answers." });
  expect(JSON.stringify(lines)).not.toMatch(/what (was|it)/);
});
