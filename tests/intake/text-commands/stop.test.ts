import { expect, test } from "vitest";
import { isStopCommand } from "../../../src/intake/text-commands/stop.ts";

test.each(["stop", "Stop!", " STOP. ", "/stop", "🛑", "!stop", "cancel", "ｓｔｏｐ"])(
  "%j alone is an order to stop",
  (text) => {
    expect(isStopCommand(text)).toBe(true);
  },
);

test.each([
  "don't stop until it works",
  "stop the server",
  "unstoppable",
  "",
  "stop stop",
  "why did you stop?",
])("%j is no order to stop", (text) => {
  expect(isStopCommand(text)).toBe(false);
});
