import { describe, expect, test } from "vitest";
import type { UserMessage } from "../../../src/agent/messages.ts";
import type { Reply } from "../../fakes/scripted-model.ts";
import { dispatcherOf } from "../tools/services.ts";
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
