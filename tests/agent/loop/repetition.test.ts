import { describe, expect, test } from "vitest";
import type { UserMessage } from "../../../src/agent/messages.ts";
import { bashOutput } from "../../../src/agent/tools/jobs.ts";
import type { Job, Sandbox } from "../../../src/sandbox/sandbox.ts";
import type { Reply } from "../../fakes/scripted-model.ts";
import { dispatcherOf, memoryNotes } from "../tools/services.ts";
import { asking, run, say, tool } from "../turn.ts";

const look = (results: (n: number) => string) => {
  let n = 0;
  return tool("look", "read", async () => results(++n));
};
const again: Reply = { calls: [{ name: "look" }] };
/** Looks until it is told to wrap up. */
const looking = (request: { toolChoice?: string }): Reply =>
  request.toolChoice === "none" ? { text: "I got nowhere." } : again;

const hints = (journal: Awaited<ReturnType<typeof run>>["journal"]) =>
  journal.filter((record) => record.type === "nudge" && record.message.text.includes("again and again"));

describe("The same call with the same result", () => {
  test("gets a hint the third time and ends the turn the sixth, with a last word", async () => {
    const { outcome, journal, requests } = await run({ replies: looking, tools: [look(() => "blue")] });
    expect(hints(journal)).toHaveLength(1);
    expect(requests[3]?.messages.at(-1)).toMatchObject({
      text: expect.stringContaining("again and again"),
    });
    expect(outcome).toMatchObject({
      kind: "step-limit",
      limit: "6 equal steps in a row",
      text: "I got nowhere.",
      steps: 6,
    });
  });

  test("counts as the same when it fails each time in other words", async () => {
    const failing = tool("look", "read", () => Promise.reject(new Error("no")));
    const dispatcher = dispatcherOf({ tools: [failing], onError() {} });
    const { outcome } = await run({ replies: looking, dispatcher });
    expect(outcome).toMatchObject({ limit: "6 equal steps in a row" });
  });

  test("is fine when the result changes", async () => {
    const { outcome, journal } = await run({
      replies: (_request, call) => (call < 12 ? again : { text: "Done." }),
      tools: [look((n) => `${n} files`)],
    });
    expect(outcome).toMatchObject({ kind: "answered", steps: 12 });
    expect(hints(journal)).toEqual([]);
  });

  test("is counted anew when a person says something", async () => {
    let steps = 0;
    const { outcome } = await run({
      replies: (_request, call) => (call <= 8 ? again : { text: "Done." }),
      tools: [look(() => "blue")],
      followUps: async (): Promise<UserMessage[]> =>
        ++steps === 5 ? [say("look once more, please", 5_000)] : [],
    });
    expect(outcome).toMatchObject({ kind: "answered", steps: 9 });
  });

  test("is hinted at once, also when another worker goes on", async () => {
    const journal = asking("look");
    await run({
      journal,
      replies: looking,
      tools: [look(() => "blue")],
      onEvent: (event, abort) => event.type === "nudge" && abort({ kind: "shutdown" }),
    });
    await run({ journal, replies: looking, tools: [look(() => "blue")] });
    expect(hints(journal)).toHaveLength(1);
  });
});

describe("Rounds of two or three steps", () => {
  const looks = (names: readonly string[], results: (name: string, n: number) => string) => {
    let n = 0;
    return names.map((name) => tool(name, "read", async () => results(name, ++n)));
  };
  /** Makes the calls in turn, until it is told to wrap up. */
  const inTurn =
    (names: readonly string[]) =>
    (request: { toolChoice?: string }, call: number): Reply =>
      request.toolChoice === "none"
        ? { text: "I got nowhere." }
        : { calls: [{ name: names[(call - 1) % names.length] ?? "" }] };

  test.each([
    [["a", "b"], 6, "the same 2 steps 6 times in a row"],
    [["a", "b", "c"], 9, "the same 3 steps 6 times in a row"],
  ])("of %j get a hint after the third and end the turn after the sixth", async (names, hintAfter, limit) => {
    const { outcome, journal, requests } = await run({
      replies: inTurn(names),
      tools: looks(names, (name) => name),
    });
    expect(hints(journal)).toHaveLength(1);
    const hinted = requests.findIndex(({ messages }) => JSON.stringify(messages).includes("again and again"));
    expect(hinted).toBe(hintAfter);
    expect(outcome).toMatchObject({ kind: "step-limit", limit, steps: 2 * hintAfter });
  });

  test("are fine when one of them sees something new", async () => {
    const names = ["a", "b", "c"];
    const { outcome, journal } = await run({
      replies: (request, call) => (call > 30 ? { text: "Done." } : inTurn(names)(request, call)),
      tools: looks(names, (name, n) => (name === "b" ? `${n} files` : name)),
    });
    expect(outcome).toMatchObject({ kind: "answered" });
    expect(hints(journal)).toEqual([]);
  });

  test("count from where they begin, whatever was done before", async () => {
    const names = ["a", "b"];
    const { outcome } = await run({
      replies: (request, call) => inTurn(call > 4 ? names : ["x"])(request, call),
      tools: looks([...names, "x"], (name, n) => (name === "x" ? `${n}` : name)),
    });
    expect(outcome).toMatchObject({ limit: "the same 2 steps 6 times in a row", steps: 16 });
  });
});

describe("Looking again at a background command", () => {
  /** A job as `bash_output` finds it: its output, look by look. */
  const jobWith = (outputs: (looks: number) => string): Sandbox => {
    let looked = 0;
    const job: Job = {
      id: "job-1",
      command: "make",
      startedAt: 0,
      status: () => ({ state: "running" }),
      async read(offset) {
        const data = Buffer.from(outputs(++looked)).subarray(offset);
        return { data, next: offset + data.length, total: offset + data.length };
      },
      wait: () => Promise.reject(new Error("nobody waits")),
      kill: () => Promise.reject(new Error("nobody kills")),
    };
    // Nothing else of a sandbox is used here.
    return { jobs: () => [job] } as unknown as Sandbox;
  };
  const poll = async (outputs: (looks: number) => string) => {
    let now = 0;
    const services = { notes: memoryNotes(), now: () => (now += 1_700), sandbox: jobWith(outputs) };
    return run({
      replies: (request, call) =>
        call > 20 || request.toolChoice === "none"
          ? { text: "It still runs." }
          : { calls: [{ name: "bash_output", input: { id: "job-1" } }] },
      dispatcher: dispatcherOf({ tools: [bashOutput], services }),
    });
  };

  test("that has printed nothing new is the same, although its seconds differ", async () => {
    const { outcome, journal } = await poll(() => "building\n");
    const results = journal.flatMap((record) => (record.type === "tool-result" ? [record.message.text] : []));
    expect(new Set(results).size).toBe(6);
    expect(hints(journal)).toHaveLength(1);
    expect(outcome).toMatchObject({ limit: "6 equal steps in a row" });
  });

  test("that goes on printing is left alone", async () => {
    const { outcome, journal } = await poll((looks) => ".\n".repeat(looks));
    expect(hints(journal)).toEqual([]);
    expect(outcome).toMatchObject({ kind: "answered", steps: 21 });
  });
});
