import { expect, test } from "vitest";
import { parseManifest } from "../src/agent/skills/manifest.ts";
import { toPlainOutput } from "../src/chat/terminal-text.ts";
import { isHelpCommand } from "../src/intake/text-commands/help.ts";
import { listRemainingEffects } from "../src/queue/undo/remaining-effects.ts";

/** Longer than what people can send, and of the order of what models and commands write. */
const long = 120_000;
const run = (sign: string) => sign.repeat(long / sign.length);

const thread = { platform: "memory", workspace: "w", channel: "c", thread: "t" };
const said = (text: string) =>
  ({ thread, ref: { ...thread, message: "m" }, addressed: "direct", text }) as const;
const called = (command: string) =>
  [{ calls: [{ name: "bash", input: { command } }] }] as unknown as Parameters<
    typeof listRemainingEffects
  >[0];

/**
 * A regular expression that looks through a run of signs again from each of them takes five seconds and more for these texts, in which
 * the worker would serve nobody; in one pass each takes milliseconds.
 */
test.each<[string, () => unknown]>([
  ["a message of exclamation marks", () => isHelpCommand(said(`${run("!")}x`))],
  ["an output that goes back to the start of its line", () => toPlainOutput(`${run("\r")}x`)],
  ["a skill that says nothing behind blanks", () => parseManifest(`---\nname:${run(" ")}\n---\n`, "x")],
  ["a command that names git and never pushes", () => listRemainingEffects(called(run("git ")))],
])("%s is read in one pass", { timeout: 4_000 }, (_what, read) => {
  expect(() => read()).not.toThrow();
});
