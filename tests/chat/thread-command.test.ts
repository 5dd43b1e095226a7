import { expect, test } from "vitest";
import { threadWord } from "../../src/chat/thread-command.ts";
import { isContinueWord } from "../../src/intake/continue.ts";
import { scheduleWordsIn } from "../../src/intake/text-commands/schedules.ts";
import { isStatusWord } from "../../src/intake/text-commands/status.ts";
import { isStopWord } from "../../src/intake/text-commands/stop.ts";
import { verbosityWord } from "../../src/intake/text-commands/verbosity.ts";

const readings = [isStopWord, isStatusWord, isContinueWord, verbosityWord, scheduleWordsIn];

test.each(["stop", "status", "continue", "quiet", "normal", "full", "schedules"])(
  "the word %s is no task for a new thread, and does in a thread what it says",
  (word) => {
    expect(threadWord(word)).toBe(word);
    expect(threadWord(`!${word.toUpperCase()}`)).toBe(word);
    expect(readings.some((read) => read(`!${word}`))).toBe(true);
  },
);

test("the order to compact, which the agent's loop takes, is no task for a new thread", () => {
  expect(threadWord("/compact")).toBe("compact");
});

test("a task that begins with such a word is one", () => {
  expect(threadWord("stop the server")).toBeUndefined();
});
