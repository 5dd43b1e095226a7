import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { replay } from "../../src/agent/journal/replay.ts";
import type { JournalRecord } from "../../src/agent/journal/journal.ts";
import { formatUserText, type UserMessage } from "../../src/agent/messages.ts";
import { createPlanning, limitToPlanning, listUnplanned } from "../../src/agent/planning.ts";
import { allowAll, createPolicy } from "../../src/agent/policy/policy.ts";
import { createProposePlan } from "../../src/agent/tools/propose-plan.ts";
import type { ToolContext } from "../../src/agent/tools/tool.ts";

const ada = { id: "U1", name: "Ada" };
const says = (id: string, plan = false): UserMessage => ({
  ...{ role: "user", id, author: ada, text: "do it", at: 1 },
  ...(plan && { plan: true }),
});
const ignore = () => {};

describe("A plan", () => {
  test("is wanted for each message that asks for one, and for no other, until one is approved behind it", () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom("task", "planned task", "approval"), { maxLength: 12 }),
        (events) => {
          const asked: UserMessage[] = [];
          const planning = createPlanning({ asked, plannedFor: 0, always: false, onApproved: ignore });
          for (const event of events) {
            if (event === "approval") planning.approve([]);
            else asked.push(says("m", event === "planned task"));
          }
          const wanted = events.lastIndexOf("planned task") > events.lastIndexOf("approval");
          expect(planning.isOn()).toBe(wanted);
        },
      ),
    );
  });

  test("of a channel where each task is planned holds for the turn, also for what is written meanwhile", () => {
    const asked = [says("a")];
    const planning = createPlanning({ asked, plannedFor: 0, always: true, onApproved: ignore });
    expect(planning.isOn()).toBe(true);
    planning.approve([]);
    asked.push(says("b"));
    expect(planning.isOn()).toBe(false);
    asked.push(says("c", true));
    expect(planning.isOn()).toBe(true);
  });

  test("that was approved is found in the journal, for the messages before it, and no other word is taken for it", () => {
    const call = (id: string) => ({ id, name: "propose_plan", input: { plan: "p", files: ["a.txt"] } });
    const records = (text: string): JournalRecord[] => [
      { type: "turn-start", turn: "t", at: 1 },
      { type: "user", message: says("a", true) },
      {
        type: "assistant",
        step: 1,
        message: {
          role: "assistant",
          id: "r",
          parts: [{ type: "tool-call", call: call("1") }],
          model: "m",
          stop: "tool-calls",
        },
        usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, cost: 0, calls: 1 },
        at: 2,
      },
      { type: "tool-start", callId: "1", at: 3 },
      {
        type: "tool-result",
        message: { role: "tool", callId: "1", name: "propose_plan", status: "ok", text },
        durationMs: 1,
        at: 4,
      },
      { type: "user", message: says("b") },
    ];
    expect(replay(records("APPROVED by Ada. Do what")).turn?.planned).toEqual({
      messages: 1,
      files: ["a.txt"],
    });
    expect(
      replay(records("NOT APPROVED by Ada; they want this: APPROVED by Ada")).turn?.planned,
    ).toBeUndefined();
    expect(replay(records("CANCELLED by APPROVED by: change nothing")).turn?.planned).toBeUndefined();
  });

  test("is asked for in the message itself, the same each time it is sent", () => {
    expect(formatUserText(says("a", true))).toMatch(
      /^\[Ada\] do it\n\n\(Plan first: .* propose_plan and wait\./,
    );
    expect(formatUserText(says("a"))).toBe("[Ada] do it");
  });
});

describe("While a plan is to be approved", () => {
  const planning = { isOn: () => true };
  const judge = (
    name: string,
    effect: "read" | "write" | "external",
    input: unknown = {},
    hasReadOnly = true,
  ) => limitToPlanning(allowAll, planning, hasReadOnly)({ name, effect }, input).action;

  test("nothing runs that changes, sends or starts something", () => {
    for (const name of ["write_file", "edit_file", "record_note", "schedule", "bash_kill"])
      expect([name, judge(name, "write")]).toEqual([name, "deny"]);
    for (const name of ["attach_file", "share_port", "github__create_issue", "call_tool", "web_fetch_all"])
      expect([name, judge(name, "external")]).toEqual([name, "deny"]);
    expect(judge("bash", "write", { command: "ls", run_in_background: true })).toBe("deny");
    expect(judge("bash", "write", { command: "ls" }, false)).toBe("deny");
  });

  test("what reads runs, within the operator's rules", () => {
    for (const name of ["read_file", "propose_plan", "ask_user", "docs__search"])
      expect([name, judge(name, "read")]).toEqual([name, "allow"]);
    expect(judge("bash", "write", { command: "rm x" })).toBe("allow");
    expect(judge("web_fetch", "external")).toBe("allow");
    const strict = limitToPlanning(createPolicy([{ tool: "bash", action: "ask" }], "allow"), planning, true);
    expect(strict({ name: "bash", effect: "write" }, { command: "ls" }).action).toBe("ask");
  });
});

describe("The answer to a plan", () => {
  const approved: (readonly string[])[] = [];
  const tool = createProposePlan({ isOn: () => true, approve: (files) => void approved.push(files) });
  const answer = (text?: string) =>
    tool.run({ plan: "p", files: ["a"] }, {
      answer: { by: ada, ...(text !== undefined && { text }) },
    } as ToolContext);

  test("begins the work, ends it, or says what to change", async () => {
    expect(tool.asks?.({ plan: "First this.", files: ["src/a`b.ts"] })).toEqual({
      text: "**The plan.** Nothing is changed yet.\n\nFirst this.\n\nFiles: `src/a'b.ts`\n\n**Work** begins with it. To have it changed, say what should be different.",
      choices: ["Work", "Cancel"],
    });
    expect((await answer("Cancel")).text).toMatch(/^CANCELLED by Ada: change nothing/);
    expect((await answer("use SQLite")).text).toMatch(/^NOT APPROVED by Ada; they want this: use SQLite\./);
    expect((await answer()).text).toMatch(/^NOT APPROVED by Ada; the message below says/);
    expect((await tool.run({ plan: "p", files: [] }, {} as ToolContext)).status).toBe("error");
    expect(approved).toEqual([]);
    expect((await answer("Work")).text).toMatch(/^APPROVED by Ada\. Do what the plan says/);
    expect(approved).toEqual([["a"]]);
  });
});

test("What is beyond a plan is what it names neither itself, by a folder nor by a pattern", () => {
  const touched = ["src/a.ts", "src/deep/b.ts", "README.md", "docs/x.md", "srcs/c.ts"];
  expect(listUnplanned(["./src/", "*.md"], touched)).toEqual(["srcs/c.ts"]);
  expect(listUnplanned(["src/a.ts"], touched)).toEqual(touched.slice(1));
  expect(listUnplanned(["/workspace/src"], touched)).toEqual(listUnplanned(["src"], touched));
  for (const whole of [".", "./", "/workspace"]) expect(listUnplanned([whole], touched)).toEqual([]);
});
