import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

/**
 * The behaviours that the agent promises, each with the test that holds it: where a system of this kind usually
 * goes wrong, what is required here, and the file and name of the test.
 */
const cases: Record<string, [given: string, file: string, name: string]> = {
  C01: ["the model calls an unknown tool", "tools/dispatch", "of an unknown tool names the valid ones (C01)"],
  C02: ["a tool throws", "tools/dispatch", "by throwing gives one line with a trace id, and no stack (C02)"],
  C03: ["the step limit is reached", "loop", "made without tools, and can be continued (C03)"],
  C04: [
    "a stop during the second of three calls",
    "loop",
    "so that every service accepts what follows (C04)",
  ],
  C06: [
    "a stop in a tool that has done its work",
    "tools/dispatch",
    "leaves the result of a tool that was done (C06)",
  ],
  C07: [
    "a stop while a request or a command runs",
    "tools/bash",
    "keeps its output and says who stopped it (C07)",
  ],
  C08: ["the service fails four times", "llm/attempts", "gives up after the last attempt with their number"],
  C09: ["the service refuses the key", "llm/attempts", "does not try a failure of kind %s again"],
  C10: ["retries are switched off", "llm/attempts", "makes one attempt when retries are switched off"],
  C11: [
    "the arguments of a call are no JSON",
    "tools/dispatch",
    "with arguments that are not JSON says so (C11)",
  ],
  C13: ["an empty reply", "loop", "asks once more after an empty reply, then says so (C13)"],
  C14: ["three reading calls in one step", "loop", "together and keeps their results in order (C14)"],
  C15: [
    "text that looks like a special token",
    "context/tokens",
    "what looks like a special token as plain text",
  ],
  C16: ["a conversation over its limit", "context/compaction", "parts no call from its result (C16)"],
  C17: [
    "a conversation exactly at its limit",
    "context/compaction",
    "not when that is reached exactly (C17)",
  ],
  C18: [
    "only a prompt, and too large",
    "context/compaction",
    "nothing but a prompt that is too large, and says so (C18)",
  ],
  C20: [
    "the summary fails",
    "context/compaction",
    "falls back to facts when the summary %s, and shrinks strictly",
  ],
  C22: ["one message larger than the window", "context/compaction", "asks for at most one summary at a time"],
  C23: ["a second compaction", "context/compaction", "merges an earlier summary instead of dropping it"],
  C24: ["few rounds", "context/compaction", "does nothing where few rounds fit, and cuts results"],
  C25: ["more rounds than are kept", "context/compaction", "keeps the last rounds whole"],
  C26: ["a request after a compaction", "llm/anthropic-request", "maps any legal history to a request"],
  C28: ["a file of 20,000 lines", "tools/files", "cuts the middle of what has more than 32,000 tokens"],
  C30: ["one line over the limit", "context/truncate", "is cut inside it and is still valid UTF-8"],
  C32: ["twice as many lines as fit", "context/truncate", "says what is missing and where it is"],
  C33: [
    "no network for the tokenizer",
    "context/tokens",
    "the count is an estimate that loads the vocabulary",
  ],
  C34: [
    "two megabytes of output",
    "tools/bash",
    "of 2 MB is cut for the model and whole in the workspace (C34)",
  ],
  C35: ["both output streams", "tools/bash", "has both streams and the exit code (C35)"],
  C36: ["a command that fails", "tools/bash", "keeps all output (C36)"],
  C37: ["a command over its time", "tools/bash", "leaves nothing alive (C37)"],
  C38: ["time-outs of 0 and 1,000 s", "tools/bash", "a time-out of %s s is %s ms (C38)"],
  C40: ["bash's own syntax", "tools/bash", "comes from bash, not from sh (C40)"],
  C42: ["output of a job, with and without filter", "tools/jobs", "(C42)"],
  C44: ["a job is killed", "tools/jobs", "(C44)"],
  C45: ["an unknown job", "tools/jobs", "(C45)"],
  C46: ["a secret in the host's environment", "tools/bash", "knows nothing of the host's environment (C46)"],
  C47: ["an edit of what stands twice", "tools/edits", "(C47)"],
  C48: ["an edit of nothing", "tools/edits", "(C48)"],
  C50: ["paths that lead out", "tools/files", "cannot lead out through a link (C50)"],
  C52: [
    "one wrong edit among several",
    "tools/files",
    "leaves the file as it is when an edit is wrong (C47, C52)",
  ],
  C53: ["a file that changed since it was read", "tools/files", "changed since it was read (C53)"],
  C54: ["reading past the end, and what is empty", "tools/files", "says when a file is empty (C54)"],
  C55: ["notes of a thread, a channel and a person", "../queue/notes", "wherever its person speaks (C55)"],
  C56: [
    "a note that cannot be read",
    "../queue/notes",
    "is set aside and told, and nothing is lost: %s (C56)",
  ],
  C57: ["a SKILL.md without front matter or name", "skills/manifest", "without name or description"],
  C59: ["an unknown skill", "skills/disclosure", "names the skills when there is none of that name"],
  C60: ["the kind of an MCP server", "mcp/config", "the kind of a server"],
  C62: [
    "an MCP call over its time",
    "mcp/stdio-servers",
    "names the seconds, is cancelled, and the connection works on",
  ],
  C63: ["an error of an MCP tool", "mcp/stdio-servers", "an error of the tool comes with the server's text"],
  C64: ["a tool that fails three times", "tools/dispatch", "is back when the probe works (C64)"],
  C65: ["a wrong todo list", "tools/session-tools", "is refused with %s (C65)"],
  C66: [
    "a sub-agent while there is a plan",
    "sub-agent",
    "leaves the plan of the agent that asked as it was (C66)",
  ],
  C67: ["two failures at one moment", "tools/dispatch", "twice at one moment has two traces (C67)"],
  C69: ["a name that was told a turn ago", "loop", "remembers what was said in earlier turns (C69)"],
  C70: ["base URLs of MiniMax and of others", "llm/endpoints", "any other address is left alone"],
};

/** Every case that the agent is to hold; the gaps are numbers that were never given. */
const numbers = [
  ...[1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 13, 14, 15, 16, 17, 18, 20, 22, 23, 24, 25, 26, 28, 30, 32, 33, 34, 35],
  ...[
    36, 37, 38, 40, 42, 44, 45, 46, 47, 48, 50, 52, 53, 54, 55, 56, 57, 59, 60, 62, 63, 64, 65, 66, 67, 69,
    70,
  ],
];

describe("The agent's behaviours", () => {
  test("each have a case", () => {
    expect(Object.keys(cases)).toEqual(numbers.map((n) => `C${String(n).padStart(2, "0")}`));
  });

  const rows = Object.entries(cases).map(([id, [given, file, name]]) => ({ id, given, file, name }));

  test.each(rows)("are held by a test: $id, $given", ({ file, name }) => {
    expect(readFileSync(join(import.meta.dirname, `${file}.test.ts`), "utf8")).toContain(name);
  });
});
