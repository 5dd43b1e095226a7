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
import { countAttacks } from "../attacks.ts";
import { openSetting, type ThreadOfSetting } from "./setting.ts";

const missing = ["socat", "nsenter", "git"].filter((program) => !existsSync(`/usr/bin/${program}`));
const ada = { id: "U1", name: "Ada" };
const input = { repository: "shop", title: "Say hello", body: "" };
const call = { id: "c1", name: "open_pull_request", input };

/** Runs the call as the loop does, until people must decide or to its end. */
async function runOpen(open: OpenCall, { dispatcher }: Pick<ThreadOfSetting, "dispatcher">) {
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

/** What a job of the thread does at the worst moment, while git is still looking. */
async function changeBefore(
  method: "reviewCalls" | "readFiles",
  { dispatcher, sh }: ThreadOfSetting,
  text: string,
) {
  let isDone = false;
  const change = async () => {
    if (!isDone) await sh(`cd shop; echo ${text} > file`);
    isDone = true;
  };
  return {
    dispatcher: {
      ...dispatcher,
      async [method](...given: [never, never]) {
        await change();
        return await dispatcher[method](...given);
      },
    },
  };
}

test.skipIf(missing.length > 0)(
  "an approval is not about what the folder became while the difference was being shown",
  async (context) => {
    countAttacks(context, 2);
    const setting = await openSetting();
    onTestFinished(() => setting.close());
    const thread = await setting.thread();
    await thread.use("open_repository", { repository: "shop" });
    await thread.sh("cd shop; echo seen > file");
    const approve = (question: Question | undefined): OpenCall => {
      if (!question) throw new Error("nothing was asked");
      return { call, started: false, question, decision: { kind: "approved", by: ada, at: 2_000 } };
    };

    const first = await runOpen({ call, started: false }, await changeBefore("readFiles", thread, "unseen"));
    expect(first.questions).toMatchObject([{ file: { text: expect.stringContaining("+seen") } }]);
    // Here, and where another worker goes on.
    const here = await runOpen(approve(first.questions[0]), thread);
    expect(here.outcomes).toMatchObject([
      { message: { text: expect.stringContaining("changed after it was looked at") } },
    ]);
    const later = await setting.thread({ id: thread.id });
    const second = await runOpen(
      approve(first.questions[0]),
      await changeBefore("reviewCalls", later, "third"),
    );
    expect(second.questions).toMatchObject([{ file: { text: expect.stringContaining("+third") } }]);

    await later.sh("cd shop; echo unseen > file");
    const last = await runOpen(approve(second.questions[0]), await setting.thread({ id: thread.id }));
    expect(last.questions).toMatchObject([{ file: { text: expect.stringContaining("+unseen") } }]);
    expect(setting.github.pulls).toEqual([]);
  },
);
