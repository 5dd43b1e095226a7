import { expect, test } from "vitest";
import { buildSystemPrompt, type PromptParts } from "../../../../src/agent/loop/prompt/prompt.ts";
import { counter } from "../../turn.ts";

const build = (parts: Partial<PromptParts> = {}) =>
  buildSystemPrompt({
    noSandbox: "",
    sandboxNote: "",
    installed: ["git", "node", "python3"],
    instructions: "",
    skills: "",
    servers: "",
    has: () => true,
    ...parts,
  });

test("The prompt says of each tool once when to use it, and nothing of one that is not there", () => {
  const without = (tool: string) => build({ has: (name) => name !== tool });
  for (const tool of ["todo", "task", "ask_user", "attach_file", "search_history"]) {
    const named = new RegExp(`(?:with |; )${tool}\\b`, "g");
    expect(build().match(named)).toHaveLength(1);
    expect(without(tool)).not.toMatch(named);
  }
  expect(without("bash")).not.toContain("run_in_background");
  expect(without("record_note")).not.toContain("record it as a note");
});

test("The prompt says how to work on code, and what is there to do it with", () => {
  expect(build()).toMatch(/Look first: .* small steps.* run the tests.* Commit or push only if asked\./s);
  expect(build()).toContain("Installed are git, node, python3 and a Linux system's usual tools");
  const bare = build({ noSandbox: "bubblewrap is missing." });
  expect(bare).not.toMatch(/## Code|Installed|AGENTS\.md|attach_file/);
});

test("The prompt stays short", async () => {
  await counter.load();
  // Instructions that are as long as a page are followed less, and each request pays for them.
  expect(counter.count(build())).toBeLessThan(582);
});
