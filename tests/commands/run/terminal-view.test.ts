import { expect, test } from "vitest";
import type { ToolCall } from "../../../src/agent/messages.ts";
import { noUsage } from "../../../src/agent/model.ts";
import { createMasker } from "../../../src/agent/secrets/mask-secrets.ts";
import { createTerminalView } from "../../../src/commands/run/terminal-view.ts";

const secret = "correct-horse-battery";

function terminal(isTTY: boolean) {
  const written = { answers: "", progress: "" };
  const to = (name: "answers" | "progress") => ({
    isTTY,
    ...{ columns: 10, rows: 8 },
    write(text: string) {
      written[name] += text;
      return true;
    },
  });
  let time = 0;
  const clock = { advance: (ms: number) => void (time += ms) };
  const view = createTerminalView(to("answers"), to("progress"), createMasker([secret]), () => time);
  return { written, view, clock };
}

test.each([true, false])(
  "A terminal (%s) sees no secret, whatever says it and in however many pieces",
  (isTTY) => {
    const { written, view } = terminal(isTTY);
    const call: ToolCall = { id: "1", name: "bash", input: { command: `login ${secret}` } };
    view.show({ type: "step-start", step: 1 });
    view.show({ type: "text-delta", step: 1, delta: `I use ${secret.slice(0, 9)}` });
    view.show({ type: "text-delta", step: 1, delta: `${secret.slice(9)} now` });
    view.show({ type: "tool-start", step: 1, call });
    const long = { id: "2", name: "bash", input: { command: `${"x".repeat(105)} ${secret}` } };
    view.show({ type: "tool-start", step: 1, call: long });
    view.show({ type: "notice", text: `It was ${secret}.` });
    view.show({
      ...{
        type: "turn-end",
        turn: "t1",
        messages: [],
        outcome: { kind: "answered", text: secret, steps: 1, usage: noUsage },
      },
      closing: { kind: "answer", markdown: `Done with ${secret}.` },
    });
    expect(written.progress + written.answers).not.toContain(secret.slice(9));
    expect(written.progress).not.toContain(secret.slice(0, 12));
    expect(written.answers).toBe("Done with [masked].\n");
    expect(written.progress).toContain("login [masked]");
    // oxlint-disable-next-line no-control-regex -- the dimming of what is not final
    const shown = written.progress.replaceAll(/\u001b\[\d+m/g, "");
    if (isTTY) expect(shown).toMatch(/^I use \[masked\] now\n▸/);
  },
);

test.each([
  ["a", "\r\u001b[J"],
  ["one line and\nanother", "\r\u001b[2A\u001b[J"],
  ["日本語日本語", "\r\u001b[1A\u001b[J"],
  ["“a” – b…", "\r\u001b[J"],
  ["a\tb\tc", "\r\u001b[1A\u001b[J"],
  ["\n".repeat(8), "\n\n"],
])("What was streamed is taken off the screen before the final answer stands there (%j)", (delta, after) => {
  const { written, view } = terminal(true);
  view.show({ type: "text-delta", step: 1, delta });
  view.show({
    ...{ type: "turn-end", turn: "t1", messages: [] },
    outcome: { kind: "answered", text: delta, steps: 1, usage: noUsage },
    closing: { kind: "answer", markdown: "Done." },
  });
  expect(written.progress.endsWith(after)).toBe(true);
  expect(written.answers).toBe("Done.\n");
});

test("A command shows its last lines and its time while it runs, and nothing of it when it has ended", () => {
  const { written, view, clock } = terminal(true);
  const call: ToolCall = { id: "c1", name: "bash", input: { command: "make" } };
  view.show({ type: "tool-start", step: 1, call });
  clock.advance(3_000);
  view.show({ type: "tool-output", callId: "c1", chunk: "one\ntwo\nsix\u001b[2J\n" });
  expect(written.progress).toMatch(/▸ bash make\n[^]*│ two[^]*│ six[^]*… 3 s/);
  expect(written.progress).not.toContain("\u001b[2J");
  clock.advance(2_000);
  view.tick();
  // Four lines were drawn and are drawn again.
  expect(written.progress.split("\u001b[4A\u001b[J")[1]).toContain("… 5 s");
  const message = { role: "tool", callId: "c1", name: "bash", status: "ok", text: "exit code 0" } as const;
  view.show({ type: "tool-end", step: 1, message, durationMs: 5_000 });
  expect(written.progress.split("\u001b[4A\u001b[J").at(-1)).toMatch(/ok · 5 s · exit code 0/);
});

test.each([
  [{ status: "ok", text: "exit code 3\nno such file" }, "failed · 5 s · exit code 3"],
  [{ status: "ok", text: "exit code 0" }, "ok · 5 s · exit code 0"],
  [{ status: "error", notRun: "denied", text: "DENIED by Ada" }, "denied · 5 s · DENIED by Ada"],
] as const)("A command that ended so (%j) is called what it is", (how, shown) => {
  const { written, view } = terminal(false);
  view.show({ type: "tool-start", step: 1, call: { id: "c1", name: "bash", input: { command: "make" } } });
  const message = { role: "tool", callId: "c1", name: "bash", ...how } as const;
  view.show({ type: "tool-end", step: 1, message, durationMs: 5_000 });
  expect(written.progress).toContain(shown);
});

test("A plan stands there once, without the arguments of its call", () => {
  const { written, view } = terminal(false);
  view.show({ type: "tool-start", step: 1, call: { id: "c1", name: "todo", input: { items: [] } } });
  const message = {
    role: "tool",
    callId: "c1",
    name: "todo",
    status: "ok",
    text: "0 of 1\n[ ] Weave",
  } as const;
  view.show({ type: "tool-end", step: 1, message, durationMs: 1 });
  expect(written.progress).toBe("Plan · 0 of 1  \n☐ Weave\n");
});
