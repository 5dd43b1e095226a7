import { expect, test } from "vitest";
import {
  isAboutPeople,
  isForChannels,
  readCommandTask,
  readThreadCommand,
} from "../../src/chat/thread-command.ts";
import { readAdminCommand } from "../../src/intake/administration/commands.ts";
import { isContinueCommand } from "../../src/intake/continue-paused.ts";
import { readModelCommand } from "../../src/intake/text-commands/model.ts";
import { readDisconnectCommand } from "../../src/intake/text-commands/disconnect.ts";
import { explainMistyped } from "../../src/intake/text-commands/mistyped.ts";
import { readNotifyCommand } from "../../src/intake/text-commands/notify.ts";
import { isBarePrompt } from "../../src/intake/text-commands/prompt.ts";
import { readPlanTask } from "../../src/intake/text-commands/plan.ts";
import { readQueueCommand } from "../../src/intake/text-commands/queue.ts";
import { readScheduleCommand } from "../../src/intake/text-commands/schedules.ts";
import { isStatusCommand } from "../../src/intake/text-commands/status.ts";
import { isStopCommand } from "../../src/intake/text-commands/stop.ts";
import { readUndoCommand } from "../../src/intake/text-commands/undo.ts";
import { readVerbosityCommand } from "../../src/intake/text-commands/verbosity.ts";

const readings = [
  isStopCommand,
  readDisconnectCommand,
  isStatusCommand,
  isContinueCommand,
  readVerbosityCommand,
  readScheduleCommand,
  readNotifyCommand,
  readQueueCommand,
  readModelCommand,
  readUndoCommand,
  isBarePrompt,
];

test.each([
  "stop",
  "prompt",
  "status",
  "continue",
  "quiet",
  "normal",
  "full",
  "schedules",
  "model",
  "notify",
  "notify on",
  "notify off",
  "notify default",
  "disconnect",
  "disconnect tickets",
  "queue",
  "queue remove m7",
  "queue last m7",
  "queue move m7 to 2",
  "undo",
  "undo 3",
  "redo",
  "fork",
])("the word %s is no task for a new thread, and does in a thread what it says", (word) => {
  expect(readThreadCommand(word)).toBe(word);
  expect(readThreadCommand(`!${word.toUpperCase()}`)).toBe(word);
  expect(readings.some((read) => read(`!${word}`))).toBe(true);
});

test.each(["undo 0", "undo 100", "fork 0"])(
  "%j is no task, and intake says what is wrong with it",
  (word) => {
    expect(readThreadCommand(word)).toBe(word);
    // In a channel too: no thread could carry it out.
    expect(isForChannels(word)).toBe(true);
    expect(readUndoCommand(`/${word}`)).toBeUndefined();
    expect(explainMistyped(`/${word}`)).toContain("99 is the most");
  },
);

test("what may be undone in a thread means nothing in a channel", () => {
  expect(isForChannels("undo 3")).toBe(false);
  expect(isForChannels("fork")).toBe(false);
});

test("the order to compact, which the agent's loop takes, is no task for a new thread", () => {
  expect(readThreadCommand("/compact")).toBe("compact");
});

test("a task that begins with such a word is one", () => {
  expect(readThreadCommand("stop the server")).toBeUndefined();
});

test.each(["plan: move the report", "Plan : move the report", "plan:move the report"])(
  "behind a command, %s is a task that is planned first",
  (text) => {
    expect(readPlanTask(readCommandTask(text))).toBe("move the report");
  },
);

test.each(["plan a party", "plan:", "planning: later", "what is the plan: a or b?", "!plan x"])(
  "behind a command, %s stays as it is written",
  (text) => {
    expect(readCommandTask(text)).toBe(text);
  },
);

test.each([
  "allow <@U012345>",
  "deny <@!80351110224678912>, U012345",
  "people",
  "people reset <@U012345>",
  "channel",
  "channel model openai/Small",
  "channel instructions Answer in French.\nAnd briefly.",
])("the administrator's %j is no task, keeps its case, and is read by the intake", (text) => {
  expect(readThreadCommand(text)).toBe(text);
  expect(readThreadCommand(`!${text}`)).toBe(text);
  expect(isForChannels(text)).toBe(true);
  expect(readAdminCommand(`!${text}`)).not.toMatchObject({ do: "explain" });
});

test.each([
  "allow me to ask something",
  "channel the water of the river",
  "people of Rome",
  "deny everything",
])("%j is a task", (text) => {
  expect(readThreadCommand(text)).toBeUndefined();
});

test("only in a command about people do mentions stay what they are", () => {
  expect(isAboutPeople("!allow <@U012345>")).toBe(true);
  expect(isAboutPeople("!people reset <@U012345|ada>")).toBe(true);
  expect(isAboutPeople("!allow <@U012345> to do it")).toBe(false);
  expect(isAboutPeople("ask <@U012345>")).toBe(false);
});
