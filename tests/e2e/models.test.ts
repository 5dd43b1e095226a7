import { expect, test } from "vitest";
import { startFakeAnthropic } from "../fakes/anthropic.ts";
import { startFakeOpenAI } from "../fakes/openai.ts";
import { modelEnvironment } from "./environment.ts";
import { useSetting } from "./hooks.ts";

const here = useSetting();

test("A compatible server gets Chat Completions, with the tools' results", async () => {
  const model = await startFakeOpenAI({ dialect: "compatible" });
  model.push({ calls: [{ name: "bash", input: { command: "echo $((6 * 7))" } }] }, { text: "It is 42." });
  const program = here.place.start(["run", "What is six times seven?"], {
    REDIS_URL: here.redis.path,
    OPENAI_API_KEY: model.apiKey,
    OPENAI_BASE_URL: model.baseUrl,
    HEDDLE_MODEL: "openai/local-model",
  });
  expect(await program.ended).toBe(0);
  expect(program.output()).toContain("It is 42.");
  expect(JSON.stringify(model.chats[1]?.messages.at(-1))).toContain(String.raw`exit code 0\n42`);
  await model.close();
});

test("A busy service is tried again, and the thread is told meanwhile", async () => {
  const model = await startFakeAnthropic();
  model.push(
    { status: 529, type: "overloaded_error", message: "Overloaded" },
    { content: [{ type: "text", text: "Sorry for the wait." }] },
  );
  const program = here.place.start(["run", "hi"], {
    REDIS_URL: here.redis.path,
    ...modelEnvironment(model),
  });
  expect(await program.ended).toBe(0);
  expect(program.output()).toMatch(/busy.*Trying again in[\s\S]*Sorry for the wait\./);
  await model.close();
});
