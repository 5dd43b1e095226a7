import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { createDemoModel } from "../../../src/agent/llm/demo/demo.ts";
import { heddle, type Message, textOf, toolCalls } from "../../../src/agent/messages.ts";
import type { LanguageModel, ModelEvent } from "../../../src/agent/model.ts";
import { createSandboxTools, createSessionTools } from "../../../src/agent/tools/built-in.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

function scriptsDir(files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), "demo-scripts-"));
  folders.push(folder);
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  return folder;
}

const says = (text: string): Message => ({
  role: "user",
  id: `m-${text}`,
  author: { id: "U1", name: "Ada" },
  text,
  at: 0,
});

async function ask(model: LanguageModel, messages: Message[], toolChoice: "auto" | "none" = "auto") {
  const events: ModelEvent[] = [];
  const request = { system: "s", messages, tools: [], toolChoice };
  for await (const event of model.stream(request, new AbortController().signal)) events.push(event);
  const done = events.at(-1);
  if (done?.type !== "done") throw new Error("the stream had no final event");
  return { events, message: done.message, usage: done.usage };
}

/** Plays a turn to its end, answering each call with "result of NAME". */
async function play(model: LanguageModel, history: Message[], text: string) {
  const messages = [...history, says(text)];
  const calls: string[] = [];
  for (let step = 0; step < 10; step += 1) {
    const { message } = await ask(model, messages);
    messages.push(message);
    if (toolCalls(message).length === 0) return { messages, calls, answer: textOf(message) };
    for (const call of toolCalls(message)) {
      calls.push(call.name);
      messages.push({
        role: "tool",
        callId: call.id,
        name: call.name,
        status: "ok",
        text: `result of ${call.name}`,
      });
    }
  }
  throw new Error("the script did not end");
}

describe("the scripts that ship", () => {
  const model = createDemoModel({ stepDelayMs: 0 });

  test("the calculator is written, run and noted, and the answer shows what the run said", async () => {
    const { calls, answer } = await play(model, [], "Please write a CALCULATOR in Python");
    expect(calls).toEqual(["write_file", "write_file", "bash", "record_note", "record_note"]);
    expect(answer).toContain("result of bash");
  });

  test("recalling reads the notes and answers with them", async () => {
    const { calls, answer } = await play(model, [], "what do you remember?");
    expect(calls).toEqual(["recall_notes"]);
    expect(answer).toContain("result of recall_notes");
  });

  test("sleeping starts a command that is long enough to stop", async () => {
    const { message } = await ask(model, [says("sleep 600 please")]);
    expect(toolCalls(message)).toMatchObject([{ name: "bash", input: { command: "sleep 600" } }]);
  });

  test("a greeting gets a tour by name", async () => {
    const { answer } = await play(model, [], "hi");
    expect(answer).toContain("Hello Ada");
  });

  test("anything else is answered honestly, each time", async () => {
    const first = await play(model, [], "Prove the Riemann hypothesis");
    const second = await play(model, first.messages, "Then a simpler one");
    for (const { answer } of [first, second]) {
      expect(answer).toContain("demo model");
      expect(answer).toContain("ANTHROPIC_API_KEY");
      expect(answer).toContain("in `.env`: it answers within seconds");
      expect(answer.match(/demo model/g)).toHaveLength(1);
    }
  });

  test("only the first answer in a thread begins with the notice", async () => {
    const first = await play(model, [], "write a calculator");
    const second = await play(model, first.messages, "what do you remember?");
    expect(first.answer).toMatch(/^This is Heddle's demo model/);
    expect(second.answer).not.toContain("demo model");
  });

  test.each(["write a calculator", "what do you remember?", "sleep 600"])(
    'call for "%s" only tools that exist, with input that they take',
    async (text) => {
      const tools = new Map(
        [...createSandboxTools(), ...createSessionTools()].map((tool) => [tool.name, tool]),
      );
      const { messages } = await play(model, [], text);
      const calls = messages.flatMap((message) => (message.role === "assistant" ? toolCalls(message) : []));
      for (const { name, input } of calls)
        expect(tools.get(name)?.input.safeParse(input)).toMatchObject({ success: true });
    },
  );

  test("without tools allowed it says what it is and calls nothing", async () => {
    const { message } = await ask(model, [says("write a calculator")], "none");
    expect(toolCalls(message)).toEqual([]);
    expect(textOf(message)).toContain("demo model");
  });
});

describe("playing a script", () => {
  const model = () =>
    createDemoModel({
      stepDelayMs: 0,
      scriptsDir: scriptsDir({
        "a.yaml": String.raw`
match: [deploy (now), /^ship\b/]
steps:
  - { thinking: "Hm, {{author}}.", calls: [{ tool: bash, input: { command: "echo {{user}}" } }] }
  - { calls: [{ tool: bash }] }
  - { text: 'for {{author}} ("{{user}}"): {{result:1}}, {{result:2}}, {{result:3}}' }`,
        "b.yaml": "match: [deploy]\nsteps: [{ text: second }]",
        "z.yaml": "steps: [{ text: nothing fits }]",
        "notes.txt": "not a script",
      }),
    });

  test("the first file that matches wins, by words or by expression", async () => {
    const { answer } = await play(model(), [], "deploy");
    expect(answer).toContain("second");
    expect((await play(model(), [], "SHIP it")).calls).toEqual(["bash", "bash"]);
    expect((await play(model(), [], "Deploy (NOW)!")).calls).toEqual(["bash", "bash"]);
    expect((await play(model(), [], "worship")).answer).toContain("nothing fits");
  });

  test("placeholders are filled in texts, once, and never in a tool's input", async () => {
    const { messages, answer } = await play(model(), [], "ship {{result:1}}");
    expect(answer).toContain('for Ada ("ship {{result:1}}"): result of bash, result of bash, (no result)');
    expect(messages[1]).toMatchObject({
      parts: [
        { type: "thinking", text: "Hm, Ada.", protocol: "demo" },
        { type: "tool-call", call: { name: "bash", input: { command: "echo {{user}}" } } },
      ],
    });
  });

  test("the next step follows from the history alone", async () => {
    const { messages } = await play(model(), [], "ship it");
    for (const length of [1, 3, 5]) {
      const { message } = await ask(model(), messages.slice(0, length));
      expect(toolCalls(message)).toHaveLength(length === 5 ? 0 : 1);
    }
  });

  test("a remark while a script runs does not disturb it, a match starts the other script", async () => {
    const { messages } = await play(model(), [], "ship it");
    const halfway = messages.slice(0, 3);
    expect(toolCalls((await ask(model(), [...halfway, says("hurry")])).message)).toHaveLength(1);
    expect(textOf((await ask(model(), [...halfway, says("deploy")])).message)).toContain("second");
  });

  test("a stopped script is not taken up again", async () => {
    const { messages } = await play(model(), [], "ship it");
    const stopped: Message = { role: "user", id: "stop", author: heddle, text: "(Ada stopped it.)", at: 0 };
    const { message } = await ask(model(), [...messages.slice(0, 3), stopped, says("thanks")]);
    expect(textOf(message)).toContain("nothing fits");
  });

  test("a history that begins with a summary is answered", async () => {
    const { message } = await ask(model(), [{ role: "summary", text: "a lot was done" }]);
    expect(textOf(message)).toBe("nothing fits");
  });

  test("what streams is what the final message holds, and it costs nothing", async () => {
    const { events, message, usage } = await ask(model(), [says("anything")]);
    const streamed = events.flatMap((event) => (event.type === "text" ? [event.delta] : []));
    expect(streamed.length).toBeGreaterThan(5);
    expect(streamed.join("")).toBe(textOf(message));
    expect(usage).toMatchObject({ cost: 0, calls: 1 });
    expect(usage.output).toBeGreaterThan(0);
  });

  test("an abort ends the stream with the signal's reason", async () => {
    const slow = createDemoModel({ stepDelayMs: 60_000 });
    const abort = new AbortController();
    const stream = slow.stream({ system: "", messages: [says("hi")], tools: [] }, abort.signal);
    const next = stream[Symbol.asyncIterator]().next();
    abort.abort({ kind: "shutdown" });
    await expect(next).rejects.toEqual({ kind: "shutdown" });
  });
});

describe("a script that is not in the format", () => {
  const ok = "steps: [{ text: hi }]";
  test.each([
    ["broken YAML", { "x.yaml": "steps: [" }, /x\.yaml cannot be used/],
    ["an unknown key", { "x.yaml": "steps: [{ txt: hi }]", "z.yaml": ok }, /x\.yaml.*steps\[0\].*"txt"/],
    ["a missing answer", { "x.yaml": "steps: [{ calls: [{ tool: bash }] }]" }, /steps: the last step/],
    ["an answer in the middle", { "x.yaml": "steps: [{ text: a }, { text: b }]" }, /steps: every step but/],
    ["an unknown placeholder", { "x.yaml": "steps: [{ text: '{{name}}' }]" }, /steps\[0\]\.text: knows only/],
    ["a bad tool name", { "x.yaml": "steps: [{ calls: [{ tool: a b }] }, { text: c }]" }, /calls\[0\]\.tool/],
    ["a bad expression", { "x.yaml": "match: [/(/]\nsteps: [{ text: a }]" }, /x\.yaml/],
    ["no fallback", { "x.yaml": `match: [a]\n${ok}` }, /exactly one file without "match".* 0 were found/],
    ["two fallbacks", { "x.yaml": ok, "y.yaml": ok }, /2 were found/],
  ])("%s is refused with its file and place", (_case, files, error) => {
    expect(() => createDemoModel({ scriptsDir: scriptsDir(files) })).toThrow(error);
  });
});
