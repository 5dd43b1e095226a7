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
  return { written, view: createTerminalView(to("answers"), to("progress"), createMasker([secret])) };
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
