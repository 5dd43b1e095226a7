import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { ModelError } from "../../../src/agent/model.ts";
import { openModel } from "../../../src/agent/llm/open.ts";
import { type FakeModelServer, startFakeAnthropic } from "../../fakes/anthropic.ts";
import { startFakeOpenAI } from "../../fakes/openai.ts";
import { startWireServer } from "../../fakes/wire.ts";

let service: FakeModelServer;
beforeAll(async () => {
  const models = {
    "claude-sonnet-5-5": { contextTokens: 500_000, maxOutputTokens: 32_000, adaptiveThinking: true },
  };
  service = await startFakeAnthropic({ models });
});
afterAll(() => service.close());

const account = (model: string, more: { apiKey?: string; baseUrl?: string } = {}) => ({
  ...{ provider: "anthropic" as const, model, apiKey: "test-key", baseUrl: service.url },
  ...more,
});
const options = { retry: {}, demo: {} };

describe("An opened model", () => {
  test("has the limits that its service tells, and the catalogue's price", async () => {
    const { limits } = await openModel(account("claude-sonnet-5-5"), options);
    expect(limits).toMatchObject({ contextTokens: 500_000, maxOutputTokens: 32_000, images: true });
    expect(limits.price).toMatchObject({ input: 2, output: 10 });
  });

  test("has the limits that the operator gives above all others", async () => {
    const limits = { contextTokens: 40_000, price: { input: 1, output: 2, cacheRead: 3, cacheWrite: 4 } };
    const opened = await openModel(account("claude-sonnet-5-5"), { ...options, limits });
    expect(opened.limits).toMatchObject({ ...limits, maxOutputTokens: 32_000 });
  });

  test("has the catalogue's limits when its service is silent or not there", async () => {
    const silent = await startWireServer(() => new Promise(() => {}));
    const slow = account("claude-opus-5", { baseUrl: silent.url });
    expect((await openModel(slow, { ...options, askMs: 20 })).limits.contextTokens).toBe(1_000_000);
    await silent.close();
    const gone = await openModel(slow, options);
    expect(gone.limits.contextTokens).toBe(1_000_000);
  });

  test("asks its service once", async () => {
    const before = service.requests.length;
    await openModel(account("claude-sonnet-5-5"), options);
    expect(service.requests.length - before).toBe(1);
  });

  test.each([
    ["auth", "claude-sonnet-5-5", "wrong", "ANTHROPIC_API_KEY was refused"],
    ["not-found", "claude-none", "test-key", "has no model anthropic/claude-none"],
  ])("is refused at once when its service says: %s", async (kind, model, apiKey, sentence) => {
    const error = await openModel(account(model, { apiKey }), options).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ModelError);
    expect(error).toMatchObject({ kind, message: expect.stringContaining(sentence) });
  });

  test("of a compatible server that tells nothing has small limits, unless the operator knows better", async () => {
    const server = await startFakeOpenAI({ dialect: "compatible" });
    onTestFinished(() => server.close());
    const local = {
      ...{ provider: "openai" as const, model: "local", apiKey: server.apiKey },
      baseUrl: server.baseUrl,
    };
    expect((await openModel(local, options)).limits).toMatchObject({ contextTokens: 128_000, images: false });
    const limits = { contextTokens: 32_000, images: true };
    expect((await openModel(local, { ...options, limits })).limits).toMatchObject(limits);
  });
});
