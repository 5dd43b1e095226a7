import { describe, expect, test } from "vitest";
import { createContextWindow } from "../../../src/agent/context/compaction.ts";
import type { AgentEvent } from "../../../src/agent/events.ts";
import { replay } from "../../../src/agent/journal/replay.ts";
import type { OpenCall } from "../../../src/agent/journal/history.ts";
import type { JournalRecord } from "../../../src/agent/journal/journal.ts";
import { runCalls } from "../../../src/agent/loop/calls/calls.ts";
import { shareBudget } from "../../../src/agent/loop/limits.ts";
import { noUsage } from "../../../src/agent/model.ts";
import type { Policy } from "../../../src/agent/policy/policy.ts";
import type { DispatcherOptions } from "../../../src/agent/tools/dispatch/dispatch.ts";
import { createAsker, type Question } from "../../../src/agent/questions.ts";
import { parseQuestion } from "../../../src/queue/session/stored.ts";
import { createSandboxTools } from "../../../src/agent/tools/built-in.ts";
import { scriptedModel } from "../../fakes/scripted-model.ts";
import { dispatcherOf, memoryNotes } from "../tools/services.ts";
import { type Workspace, workspaces } from "../tools/workspace.ts";
import { counter } from "../turn.ts";

const newWorkspace = workspaces();
const ada = { id: "U1", name: "Ada" };
const rules = [{ id: "r1", text: "*" }];
const asksFirst: Policy = () => ({ action: "ask", why: "It is guarded.", rules });

const bash = (command: string): OpenCall => {
  return { call: { id: "c1", name: "bash", input: { command } }, started: false };
};

/** Runs the calls until people must decide, or to their end. */
async function runOpen(
  open: readonly OpenCall[],
  { sandbox }: Workspace,
  { areApproved = async () => false }: Partial<Pick<DispatcherOptions, "areApproved">> = {},
) {
  const calls = runCalls(open, {
    step: 1,
    tools: dispatcherOf({
      tools: createSandboxTools(),
      services: { sandbox, notes: memoryNotes(), now: Date.now },
      ...{ policy: asksFirst, areApproved },
    }),
    signal: new AbortController().signal,
    budget: shareBudget({ wallMs: 60_000 }, Date.now),
    context: createContextWindow({ model: scriptedModel([]).model, counter }),
    ask: createAsker(ada, 60_000, () => 1_000),
  });
  const events: AgentEvent[] = [];
  for (;;) {
    const next = await calls.next();
    if (next.done) return { ...next.value, questions: events.flatMap(questionOf) };
    events.push(next.value);
  }
}

const questionOf = (event: AgentEvent): Question[] => (event.type === "question" ? [event.question] : []);

async function ask(command: string, workspace: Workspace): Promise<Question> {
  const { questions } = await runOpen([bash(command)], workspace);
  if (!questions[0]) throw new Error("Nothing was asked.");
  return questions[0];
}

const approve = (command: string, question: Question): OpenCall => {
  return { ...bash(command), question, decision: { kind: "approved", by: ada, at: 2_000 } };
};

describe("An approval", () => {
  test.each([
    ["sh deploy.sh", "deploy.sh"],
    ["./scripts/x --fast", "scripts/x"],
    ["bash -e scripts/x && true", "scripts/x"],
    ["cd scripts && sh x", "scripts/x"],
    ["sh -c 'sh deploy.sh'", "deploy.sh"],
    ["sh < deploy.sh", "deploy.sh"],
    ["sh /workspace/deploy.sh", "deploy.sh"],
    ["sh dep'loy'.sh", "deploy.sh"],
    ['sh "my script.sh"', "my script.sh"],
    [String.raw`sh my\ script.sh`, "my script.sh"],
    ["make --file=deploy.sh", "deploy.sh"],
    ["SCRIPT=deploy.sh; sh $SCRIPT", "deploy.sh"],
  ])("of %j holds only while %s is as it was: a change is asked about again", async (command, path) => {
    const workspace = await newWorkspace();
    await workspace.use("bash", { command: "mkdir scripts" });
    for (const file of ["deploy.sh", "scripts/x", "my script.sh"]) await workspace.put(file, "true\n");
    const question = await ask(command, workspace);
    expect(question.files?.map((file) => file.path)).toEqual([path]);

    await workspace.put(path, "touch ran\n");
    const second = await runOpen([approve(command, question)], workspace);
    expect(second).toMatchObject({
      waiting: true,
      outcomes: [],
      questions: [{ changed: [path], why: "It is guarded.", rules }],
    });
    expect(second.questions[0]?.id).not.toBe(question.id);
    const [again] = second.questions;
    expect(again && (await runOpen([approve(command, again)], workspace))).toMatchObject({ waiting: false });
  });

  test("runs the call when nothing has changed", async () => {
    const workspace = await newWorkspace();
    await workspace.put("deploy.sh", "echo it ran\n");
    const { outcomes, waiting } = await runOpen(
      [approve("sh deploy.sh", await ask("sh deploy.sh", workspace))],
      workspace,
    );
    expect(waiting).toBe(false);
    expect(outcomes[0]?.message).toMatchObject({ status: "ok", text: expect.stringContaining("it ran") });
  });

  test("for the whole thread is about no files", async () => {
    const workspace = await newWorkspace();
    await workspace.put("deploy.sh", "true\n");
    const question = await ask("sh deploy.sh", workspace);
    await workspace.put("deploy.sh", "echo it ran\n");
    const { outcomes } = await runOpen([approve("sh deploy.sh", question)], workspace, {
      areApproved: async () => true,
    });
    expect(outcomes[0]?.message.text).toContain("it ran");
  });

  test("does not hold for a file that has come since, or is gone", async () => {
    const workspace = await newWorkspace();
    await workspace.put("old.sh", "true\n");
    const question = await ask("sh old.sh; sh new.sh", workspace);
    await workspace.put("new.sh", "touch ran\n");
    await workspace.use("bash", { command: "rm old.sh" });
    const { questions } = await runOpen([approve("sh old.sh; sh new.sh", question)], workspace);
    expect(questions[0]).toMatchObject({ changed: ["old.sh", "new.sh"] });
  });

  test("of an older Heddle, which knew no files, runs the call", async () => {
    const workspace = await newWorkspace();
    await workspace.put("deploy.sh", "echo it ran\n");
    const { files: _, ...older } = await ask("sh deploy.sh", workspace);
    expect(await runOpen([approve("sh deploy.sh", older)], workspace)).toMatchObject({ waiting: false });
  });

  test("looks at a bounded number of files, and at the size and beginning of a large one", async () => {
    const workspace = await newWorkspace();
    await workspace.use("bash", {
      command: "for i in $(seq 100); do echo > f$i; done; truncate -s 64M large",
    });
    const names = Array.from({ length: 100 }, (_, index) => `f${index + 1}`).join(" ");
    const question = await ask(`cat large ${names}`, workspace);
    expect(question.files?.length).toBeGreaterThan(50);
    expect(question.files?.length).toBeLessThanOrEqual(64);
    await workspace.use("bash", { command: "truncate -s 65M large" });
    const { questions } = await runOpen([approve(`cat large ${names}`, question)], workspace);
    expect(questions[0]).toMatchObject({ changed: ["large"] });
  });

  test("that is asked about again is open in the journal, whatever was decided before", async () => {
    const workspace = await newWorkspace();
    await workspace.put("deploy.sh", "true\n");
    const question = await ask("sh deploy.sh", workspace);
    const again: Question = { ...question, id: "q2", ...{ changed: ["deploy.sh"] } };
    const records: JournalRecord[] = [
      { type: "turn-start", turn: "t1", at: 1 },
      {
        type: "assistant",
        ...{ at: 1, step: 1, usage: noUsage },
        message: {
          role: "assistant",
          id: "a1",
          model: "m",
          stop: "tool-calls",
          parts: [{ type: "tool-call", call: bash("sh deploy.sh").call }],
        },
      },
      { type: "question", question, at: 1 },
      { type: "decision", question: question.id, decision: { kind: "approved", by: ada, at: 2 }, at: 2 },
      { type: "question", question: again, at: 3 },
    ];
    const [open] = replay(records).open;
    expect(open?.question?.id).toBe("q2");
    expect(open?.decision).toBeUndefined();
    for (const stored of [question, again])
      expect(parseQuestion(JSON.stringify(stored))).toEqual({ ok: true, value: stored });
  });
});
