import { expect, test } from "vitest";
import { checkToolLimit } from "../../src/commands/doctor/tool-limit.ts";
import { loadConfig } from "../../src/config/load.ts";

const tools = Array.from({ length: 140 }, (_, n) => `t${n}`);
const check = (environment: Record<string, string>, count = 140) =>
  checkToolLimit(loadConfig(environment, "/nowhere"), [{ server: "crm", tools: tools.slice(0, count) }]);

test("heddle doctor names the tools that the model's service has no room for", () => {
  const openAI = { OPENAI_API_KEY: "key", HEDDLE_MODEL: "openai/gpt-6-astra" };
  expect(check(openAI)).toEqual([
    {
      level: "warning",
      text: expect.stringMatching(
        /^openai\/gpt-6-astra: .* at most 128 tools, .* crm__t139\. Disable a server/,
      ),
    },
  ]);
  expect(check(openAI, 100)).toEqual([]);
  expect(check({ ...openAI, OPENAI_BASE_URL: "http://localhost:8000/v1" })).toEqual([]);
  expect(check({ ANTHROPIC_API_KEY: "key" })).toEqual([]);
});
