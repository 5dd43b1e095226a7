import { expect, test } from "vitest";
import { readThreadCommand } from "../../src/chat/thread-command.ts";
import { isContinueCommand } from "../../src/intake/continue-paused.ts";
import { readModelCommand } from "../../src/intake/text-commands/model.ts";
import { readQueueCommand } from "../../src/intake/text-commands/queue.ts";
import { readScheduleCommand } from "../../src/intake/text-commands/schedules.ts";
import { isStatusCommand } from "../../src/intake/text-commands/status.ts";
import { isStopCommand } from "../../src/intake/text-commands/stop.ts";
import { readVerbosityCommand } from "../../src/intake/text-commands/verbosity.ts";

const readings = [
  isStopCommand,
  isStatusCommand,
  isContinueCommand,
  readVerbosityCommand,
  readScheduleCommand,
  readQueueCommand,
  readModelCommand,
];

test.each([
  "stop",
  "status",
  "continue",
  "quiet",
  "normal",
  "full",
  "schedules",
  "model",
  "queue",
  "queue remove m7",
])("the word %s is no task for a new thread, and does in a thread what it says", (word) => {
  expect(readThreadCommand(word)).toBe(word);
  expect(readThreadCommand(`!${word.toUpperCase()}`)).toBe(word);
  expect(readings.some((read) => read(`!${word}`))).toBe(true);
});

test("the order to compact, which the agent's loop takes, is no task for a new thread", () => {
  expect(readThreadCommand("/compact")).toBe("compact");
});

test("a task that begins with such a word is one", () => {
  expect(readThreadCommand("stop the server")).toBeUndefined();
});
