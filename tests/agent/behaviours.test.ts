import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

/**
 * The behaviours that the agent promises, each with the test that holds it: where a system of this kind usually
 * goes wrong, and the files and names of the tests.
 */
const cases: Record<string, { given: string; tests: [file: string, name: string][] }> = {
  C01: {
    given: "the model calls an unknown tool",
    tests: [["tools/dispatch", "of an unknown tool names the valid ones (C01)"]],
  },
  C02: {
    given: "a tool throws",
    tests: [["tools/dispatch", "by throwing gives one line with a trace id, and no stack (C02)"]],
  },
  C03: {
    given: "the step limit is reached",
    tests: [["loop/run-turn", "made without tools, and can be continued (C03)"]],
  },
  C04: {
    given: "a stop during the second of three calls",
    tests: [["loop/run-turn", "so that every service accepts what follows (C04)"]],
  },
  C06: {
    given: "a stop in a tool that has done its work",
    tests: [["tools/dispatch", "leaves the result of a tool that was done (C06)"]],
  },
  C07: {
    given: "a stop while a request or a command runs",
    tests: [
      ["tools/bash", "keeps its output and says who stopped it (C07)"],
      ["loop/run-turn", "during a model call ends it at once"],
      ["../sandbox/stop", "tells how many processes it found, and that none is left"],
    ],
  },
  C08: {
    given: "the service fails four times",
    tests: [
      ["llm/retry", "gives up after the last attempt with their number"],
      ["llm/retry", "waits a random time below a doubling bound that is capped"],
      ["loop/run-turn", "tells a refusal and a failure of the model apart"],
    ],
  },
  C09: {
    given: "the service refuses the key",
    tests: [
      ["llm/retry", "does not try a failure of kind %s again"],
      ["llm/errors", "the sentence names the status and never repeats the service's words"],
    ],
  },
  C10: {
    given: "retries are switched off",
    tests: [["llm/retry", "makes one attempt when retries are switched off"]],
  },
  C11: {
    given: "the arguments of a call are no JSON",
    tests: [
      ["tools/dispatch", "with arguments that are not JSON says so (C11)"],
      ["llm/openai/chat", "is malformed, and goes back as an empty object"],
    ],
  },
  C13: {
    given: "an empty reply",
    tests: [["loop/run-turn", "asks once more after an empty reply, then says so (C13)"]],
  },
  C14: {
    given: "three reading calls in one step",
    tests: [["loop/run-turn", "together and keeps their results in order (C14)"]],
  },
  C15: {
    given: "text that looks like a special token",
    tests: [["context/tokens", "what looks like a special token as plain text"]],
  },
  C16: {
    given: "a conversation over its limit",
    tests: [["context/compaction", "parts no call from its result (C16)"]],
  },
  C17: {
    given: "a conversation exactly at its limit",
    tests: [["context/compaction", "not when that is reached exactly (C17)"]],
  },
  C18: {
    given: "only a prompt, and too large",
    tests: [["context/compaction", "nothing but a prompt that is too large, and says so (C18)"]],
  },
  C20: {
    given: "the summary fails",
    tests: [["context/compaction", "falls back to facts when the summary %s, and shrinks strictly"]],
  },
  C22: {
    given: "one message larger than the window",
    tests: [["context/compaction", "asks for at most one summary at a time"]],
  },
  C23: {
    given: "a second compaction",
    tests: [["context/compaction", "merges an earlier summary instead of dropping it"]],
  },
  C24: {
    given: "few rounds",
    tests: [["context/compaction", "does nothing where few rounds fit, and cuts results"]],
  },
  C25: { given: "more rounds than are kept", tests: [["context/compaction", "keeps the last rounds whole"]] },
  C26: {
    given: "a request after a compaction",
    tests: [
      ["llm/anthropic/request", "maps any legal history to a request"],
      ["llm/openai/mapping", "every legal history makes a request that the service accepts"],
    ],
  },
  C28: {
    given: "a file of 20,000 lines",
    tests: [
      ["tools/files", "cuts the middle of what has more than 32,000 tokens"],
      ["context/truncate", "has its tokens measured, not guessed from its bytes"],
    ],
  },
  C30: {
    given: "one line over the limit",
    tests: [["context/truncate", "is cut inside it and is still valid UTF-8"]],
  },
  C32: {
    given: "twice as many lines as fit",
    tests: [["context/truncate", "says what is missing and where it is"]],
  },
  C33: { given: "no network for the tokenizer", tests: [["context/tokens", "needs no network (C33)"]] },
  C34: {
    given: "two megabytes of output",
    tests: [["tools/bash", "of 2 MB is cut for the model and whole in the workspace (C34)"]],
  },
  C35: { given: "both output streams", tests: [["tools/bash", "has both streams and the exit code (C35)"]] },
  C36: { given: "a command that fails", tests: [["tools/bash", "keeps all output (C36)"]] },
  C37: { given: "a command over its time", tests: [["tools/bash", "leaves nothing alive (C37)"]] },
  C38: { given: "time-outs of 0 and 1,000 s", tests: [["tools/bash", "a time-out of %s s is %s ms (C38)"]] },
  C40: { given: "bash's own syntax", tests: [["tools/bash", "comes from bash, not from sh (C40)"]] },
  C42: { given: "output of a job, with and without filter", tests: [["tools/jobs", "(C42)"]] },
  C44: { given: "a job is killed", tests: [["tools/jobs", "(C44)"]] },
  C45: { given: "an unknown job", tests: [["tools/jobs", "(C45)"]] },
  C46: {
    given: "a secret in the host's environment",
    tests: [["tools/bash", "knows nothing of the host's environment (C46)"]],
  },
  C47: {
    given: "an edit of what stands twice",
    tests: [
      ["tools/edits", "(C47)"],
      ["tools/files", "leaves the file as it is when an edit is wrong (C47, C52)"],
    ],
  },
  C48: { given: "an edit of nothing", tests: [["tools/edits", "(C48)"]] },
  C50: {
    given: "paths that lead out",
    tests: [
      ["tools/files", "cannot lead out through a link (C50)"],
      ["tools/files", "outside are denied: %s (C50)"],
    ],
  },
  C52: {
    given: "one wrong edit among several",
    tests: [
      ["tools/files", "leaves the file as it is when an edit is wrong (C47, C52)"],
      ["tools/edits", "all of them when one is ambiguous (C52)"],
    ],
  },
  C53: {
    given: "a file that changed since it was read",
    tests: [["tools/files", "changed since it was read (C53)"]],
  },
  C54: {
    given: "reading past the end, and what is empty",
    tests: [["tools/files", "says when a file is empty (C54)"]],
  },
  C55: {
    given: "notes of a thread, a channel and a person",
    tests: [
      ["../queue/session/notes", "wherever its person speaks (C55)"],
      ["tools/session-tools", "are recalled by category and by words (C55)"],
    ],
  },
  C56: {
    given: "a note that cannot be read",
    tests: [["../queue/session/notes", "is set aside and told, and nothing is lost: %s (C56)"]],
  },
  C57: {
    given: "a SKILL.md without front matter or name",
    tests: [["skills/manifest", "without name or description"]],
  },
  C59: {
    given: "an unknown skill",
    tests: [["skills/disclosure", "names the skills when there is none of that name"]],
  },
  C60: { given: "the kind of an MCP server", tests: [["mcp/config", "the kind of a server"]] },
  C62: {
    given: "an MCP call over its time",
    tests: [["mcp/stdio-servers", "names the seconds, is cancelled, and the connection works on"]],
  },
  C63: {
    given: "an error of an MCP tool",
    tests: [["mcp/stdio-servers", "an error of the tool comes with the server's text"]],
  },
  C64: {
    given: "a tool that fails three times",
    tests: [["tools/dispatch", "is back when the probe works (C64)"]],
  },
  C65: { given: "a wrong todo list", tests: [["tools/session-tools", "is refused with %s (C65)"]] },
  C66: {
    given: "a sub-agent while there is a plan",
    tests: [
      ["loop/sub-agent", "leaves the plan of the agent that asked as it was (C66)"],
      ["loop/sub-agent", "has no sub-agents of its own, unless more levels are allowed"],
    ],
  },
  C67: {
    given: "two failures at one moment",
    tests: [
      ["tools/dispatch", "twice at one moment has two traces (C67)"],
      ["../telemetry/traces", "of two turns that begin at one moment are two (C67)"],
    ],
  },
  C69: {
    given: "a name that was told a turn ago",
    tests: [["loop/run-turn", "remembers what was said in earlier turns (C69)"]],
  },
  C70: {
    given: "base URLs of MiniMax and of others",
    tests: [["llm/endpoints", "any other address is left alone"]],
  },
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

  const rows = Object.entries(cases).flatMap(([id, { given, tests }]) =>
    tests.map(([file, name]) => ({ id, given, file, name })),
  );

  test.each(rows)("are held by a test: $id, $given ($file)", ({ file, name }) => {
    expect(readFileSync(join(import.meta.dirname, `${file}.test.ts`), "utf8")).toContain(name);
  });
});
