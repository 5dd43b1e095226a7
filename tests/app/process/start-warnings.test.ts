import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findStartWarnings } from "../../../src/app/process/start-warnings.ts";
import { loadConfig } from "../../../src/config/load.ts";
import { type FakeModelServer, startFakeAnthropic } from "../../fakes/anthropic.ts";
import { freePort } from "../../fakes/free-port.ts";

let model: FakeModelServer;
beforeAll(async () => {
  model = await startFakeAnthropic();
});
afterAll(() => model.close());

const never = new AbortController().signal;

describe("What an operator is told at the start", () => {
  test("is nothing where everything is right", async () => {
    const config = loadConfig({ ANTHROPIC_API_KEY: model.apiKey, ANTHROPIC_BASE_URL: model.url }, "/nowhere");
    expect(await findStartWarnings(config, never)).toEqual([]);
  });

  test("is a misspelt variable, a key of another service, and a service that does not answer", async () => {
    const config = loadConfig(
      {
        SLACK_BOT_TOKN: "xoxb-1",
        HEDDLE_MODEL: "anthropic/claude-sonnet-5-5",
        ANTHROPIC_API_KEY: "sk-proj-of-another-service",
        ANTHROPIC_BASE_URL: model.url,
        OPENAI_API_KEY: "sk-proj-1",
        OPENAI_BASE_URL: `http://127.0.0.1:${await freePort()}`,
      },
      "/nowhere",
    );
    config.settings.fallbackModels = ["openai/gpt-6-astra"];
    const [strange, key, silent, ...more] = await findStartWarnings(config, never);
    expect(strange).toMatch(/^SLACK_BOT_TOKN is set, but Heddle has no such setting/);
    expect(key).toMatch(
      /^anthropic\/claude-sonnet-5-5 cannot answer at the moment: ANTHROPIC_API_KEY was refused/,
    );
    expect(silent).toMatch(
      /^openai\/gpt-6-astra cannot answer at the moment: .*check the network and OPENAI_BASE_URL/,
    );
    expect(more).toEqual([]);
  });

  test("is nothing of models where that is switched off", async () => {
    const config = loadConfig({ ANTHROPIC_API_KEY: "wrong", ANTHROPIC_BASE_URL: model.url }, "/nowhere");
    config.settings.checkModelsAtStart = false;
    expect(await findStartWarnings(config, never)).toEqual([]);
  });
});
