import { existsSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { createContextWindow } from "../../src/agent/context/compaction.ts";
import type { OpenCall } from "../../src/agent/journal/history.ts";
import { runCalls } from "../../src/agent/loop/calls/calls.ts";
import { shareBudget } from "../../src/agent/loop/limits.ts";
import { createAsker, type Question } from "../../src/agent/questions.ts";
import { parseQuestion } from "../../src/queue/session/stored.ts";
import { counter } from "../agent/turn.ts";
import { scriptedModel } from "../fakes/scripted-model.ts";
import { openSetting, type ThreadOfSetting } from "./setting.ts";

const missing = ["socat", "nsenter", "git"].filter((program) => !existsSync(`/usr/bin/${program}`));
const ada = { id: "U1", name: "Ada" };
const input = { repository: "shop", title: "Say hello", body: "" };
const call = { id: "c1", name: "open_pull_request", input };

/** Runs the call as the loop does, until people must decide or to its end. */
async function runOpen(open: OpenCall, { dispatcher }: ThreadOfSetting) {
  const calls = runCalls([open], {
    step: 1,
    tools: dispatcher,
    signal: new AbortController().signal,
    budget: shareBudget({ wallMs: 60_000 }, Date.now),
    context: createContextWindow({ model: scriptedModel([]).model, counter }),
    ask: createAsker(ada, 60_000, () => 1_000),
  });
  const questions: Question[] = [];
  for (;;) {
    const next = await calls.next();
    if (next.done) return { ...next.value, questions };
    if (next.value.type === "question") questions.push(next.value.question);
  }
}

test.skipIf(missing.length > 0)(
  "an approval is about the difference that was shown: when that has changed it is asked again, with the new one",
  async () => {
    const setting = await openSetting();
    onTestFinished(() => setting.close());
    const thread = await setting.thread();
    await thread.use("open_repository", { repository: "shop" });
    await thread.sh("cd shop; echo seen > file");
    const approved = (question: Question | undefined): OpenCall => {
      // What is parked goes through Redis.
      const stored = parseQuestion(JSON.stringify(question));
      if (!stored.ok) throw new Error(stored.why);
      return {
        call,
        started: false,
        question: stored.value,
        decision: { kind: "approved", by: ada, at: 2_000 },
      };
    };

    const first = await runOpen({ call, started: false }, thread);
    expect(first.questions).toMatchObject([{ file: { text: expect.stringContaining("+seen") } }]);
    await thread.sh("cd shop; echo other > file");
    const second = await runOpen(approved(first.questions[0]), thread);
    expect(second.waiting).toBe(true);
    expect(second.questions).toMatchObject([
      { changed: ["shop"], file: { text: expect.stringContaining("+other") } },
    ]);
    expect(setting.github.pulls).toEqual([]);

    const third = await runOpen(approved(second.questions[0]), thread);
    expect(third.outcomes).toMatchObject([{ message: { status: "ok" } }]);
    const { head = "" } = setting.github.pulls[0] ?? {};
    expect(setting.github.git("acme/shop", "show", `${head}:file`)).toBe("other");
  },
);
