import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";

const root = resolve(import.meta.dirname, "../..");
const example = join(root, "examples/library.ts");
const source = readFileSync(example, "utf8");
const asPackage = source.replace("../src/agent/index.ts", "heddle/agent");
const answer = /^… weather\n[\s\S]*Ada, here is what I found: 21 °C and sunny in Oslo\.\n$/;

const run = promisify(execFile);

test("The example runs the agent as a library, with a tool of its own, in about 40 lines", async () => {
  const { stdout } = await run(process.execPath, [example], { cwd: resolve("/"), env: {}, timeout: 20_000 });
  expect(stdout).toMatch(answer);
  expect(source.trimEnd().split("\n").length).toBeLessThan(45);
});

test("The library's README shows this example as a project that has installed it would write it", () => {
  expect(readFileSync(join(root, "src/agent/README.md"), "utf8")).toContain(`\`\`\`ts\n${asPackage}\`\`\``);
});

/** All that the library may load or name in its types. That no other is linked shows that it asks for no other. */
const dependencies = ["zod", "yaml", "js-tiktoken", "openai", "@anthropic-ai/sdk"];
/** What the compiler needs beside them. */
const types = ["@types/node", "undici-types"];

/** What a project writes that brings its own model and reads its journal from text. */
const ownModel = `
import * as heddle from "heddle/agent";

const echo: heddle.LanguageModel = {
  id: "own/echo",
  limits: { contextTokens: 100_000, maxOutputTokens: 1_000, images: false },
  async *stream({ messages }: heddle.ModelRequest): AsyncGenerator<heddle.ModelEvent> {
    const asked = messages.findLast((message): message is heddle.UserMessage => message.role === "user");
    if (!asked) throw new heddle.ModelError("invalid-request", "Nobody has said anything.");
    yield {
      type: "done",
      message: {
        role: "assistant",
        id: "a1",
        parts: [{ type: "text", text: "You said: " + asked.text }],
        model: "own/echo",
        stop: "end",
      },
      usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, cost: 0, calls: 1 },
    };
  },
};
const stored = '{"type":"user","message":{"role":"user","id":"m1","author":{"id":"U1","name":"Ada"},"text":"Hello","at":1}}';
const journal: heddle.JournalRecord[] = [heddle.journalRecordSchema.parse(JSON.parse(stored))];
const notes = heddle.createMemoryNotes({ author: "Ada", now: Date.now });
const turn: heddle.Turn = {
  id: "t1",
  history: heddle.replay(journal),
  model: echo,
  tools: heddle.createDispatcher({
    tools: [],
    services: { notes, now: Date.now },
    masker: heddle.createMasker([]),
    onError: console.error,
  }),
  system: "Be brief.",
  context: heddle.createContextWindow({ model: echo, counter: heddle.createTokenCounter() }),
  signal: AbortSignal.any([]),
};
const events = heddle.runTurn(turn);
let next: IteratorResult<heddle.AgentEvent, heddle.TurnOutcome> = await events.next();
while (!next.done) next = await events.next();
console.log(next.value.kind === "answered" ? next.value.text : next.value);

const account = { model: "m", apiKey: "k", baseUrl: "http://127.0.0.1:1" };
const demo = await heddle.openModel({ provider: "demo" });
const anthropic = await heddle.openModel({ provider: "anthropic", ...account });
const openai = await heddle.openModel({ provider: "openai", ...account });
console.log(demo.id.split("/")[0], anthropic.id, openai.id);
`;

const stranger = mkdtempSync(join(tmpdir(), "heddle-stranger-"));
const installed = join(stranger, "node_modules/heddle");

beforeAll(async () => {
  await run("npm", ["pack", "--offline", "--pack-destination", stranger], { cwd: root });
  mkdirSync(installed, { recursive: true });
  const archive = join(stranger, "heddle-0.1.0.tgz");
  await run("tar", ["--extract", "--file", archive, "--directory", installed, "--strip-components", "1"]);
  for (const name of [...dependencies, ...types]) {
    const link = join(stranger, "node_modules", name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(root, "node_modules", name), link);
  }
  writeFileSync(join(stranger, "package.json"), JSON.stringify({ type: "module" }));
  writeFileSync(join(stranger, "main.ts"), asPackage);
  writeFileSync(join(stranger, "own-model.ts"), ownModel);
  cpSync(join(root, "examples/library"), join(stranger, "library"), { recursive: true });
}, 300_000);
afterAll(() => rmSync(stranger, { recursive: true, force: true }));

test("A project that has installed the package runs the example", async () => {
  const { stdout } = await run(process.execPath, ["main.ts"], { cwd: stranger, env: {}, timeout: 20_000 });
  expect(stdout).toMatch(answer);
});

test("The package runs a model of one's own, and loads those of services without the bot's libraries", async () => {
  const { stdout } = await run(process.execPath, ["own-model.ts"], { cwd: stranger, timeout: 20_000 });
  expect(stdout).toBe("You said: Hello\ndemo anthropic/m openai/m\n");
});

test("A project in strict TypeScript compiles both against the packed types", async () => {
  const options = ["--strict", "--noEmit", "--module", "nodenext", "--target", "es2024", "--types", "node"];
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  const { stdout } = await run(process.execPath, [compiler, ...options, "main.ts", "own-model.ts"], {
    cwd: stranger,
  }).catch((error: { stdout: string }) => error);
  expect(stdout).toBe("");
});
