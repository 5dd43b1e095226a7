import { expect, onTestFinished, test } from "vitest";
import { checkAccess } from "../../../src/agent/llm/check-access.ts";
import { startFakeAnthropic } from "../../fakes/anthropic.ts";
import { startFakeOpenAI } from "../../fakes/openai.ts";
import { startWireServer, type WireReply } from "../../fakes/wire.ts";

const soon = () => AbortSignal.timeout(5_000);

const account = (baseUrl: string, more: { apiKey?: string; model?: string } = {}) => ({
  ...{ provider: "anthropic" as const, model: "claude-sonnet-5-5", apiKey: "test-key", baseUrl },
  ...more,
});

test("a service that has the model and takes the key grants access, without a message to it", async () => {
  const service = await startFakeAnthropic();
  onTestFinished(() => service.close());
  expect(await checkAccess(account(service.url), soon())).toEqual({ kind: "granted" });
  expect(service.bodies).toEqual([]);
});

test("a refused key and an unknown model are told by their names", async () => {
  const anthropic = await startFakeAnthropic();
  const openai = await startFakeOpenAI({});
  onTestFinished(async () => void (await Promise.all([anthropic.close(), openai.close()])));
  expect(await checkAccess(account(anthropic.url, { apiKey: "wrong" }), soon())).toEqual({
    kind: "refused",
    message: expect.stringMatching(/^ANTHROPIC_API_KEY was refused/),
  });
  expect(await checkAccess(account(anthropic.url, { model: "claude-nobody" }), soon())).toEqual({
    kind: "refused",
    message: expect.stringMatching(/no model anthropic\/claude-nobody/),
  });
  const wrong = {
    provider: "openai" as const,
    model: "gpt-6.1-sol",
    apiKey: "wrong",
    baseUrl: openai.baseUrl,
  };
  expect(await checkAccess(wrong, soon())).toEqual({
    kind: "refused",
    message: expect.stringMatching(/^OPENAI_API_KEY was refused/),
  });
});

test.each<[string, WireReply, string, RegExp?]>([
  [
    "a proxy's 403",
    { type: "json", status: 403, body: {} },
    "refused",
    /\(HTTP 403\): check ANTHROPIC_API_KEY/,
  ],
  ["an overload", { type: "json", status: 529, body: {} }, "unreachable", /\(HTTP 529\)/],
  ["no such endpoint", { type: "json", status: 404, body: {} }, "unknown"],
  ["an answer of another shape", { type: "json", status: 200, body: "hello" }, "unknown"],
])("%s is told for what it is", async (_what, reply, kind, message) => {
  const service = await startWireServer(() => reply);
  onTestFinished(() => service.close());
  expect(await checkAccess(account(service.url), soon())).toEqual({
    kind,
    ...(message && { message: expect.stringMatching(message) }),
  });
});

test("a silent service and an absent one are unreachable, each with its reason", async () => {
  const silent = await startWireServer(() => new Promise(() => {}));
  const late = await checkAccess(account(silent.url), AbortSignal.timeout(50));
  expect(late).toMatchObject({ kind: "unreachable", message: expect.stringContaining("no answer in time") });
  await silent.close();
  const gone = await checkAccess(account(silent.url), soon());
  expect(gone).toMatchObject({
    kind: "unreachable",
    message: expect.stringMatching(/ECONNREFUSED.*ANTHROPIC_BASE_URL/),
  });
});
