import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startFakeAnthropic } from "./anthropic.ts";
import type { FakeModelServer } from "./anthropic.ts";

let service: FakeModelServer;
beforeAll(async () => {
  service = await startFakeAnthropic({ replies: () => ({ content: [{ type: "text", text: "Hello." }] }) });
});
afterAll(() => service.close());

const headers = { "x-api-key": "test-key", "anthropic-version": "2023-06-01" };
const body = {
  model: "claude-sonnet-5-5",
  max_tokens: 100,
  messages: [{ role: "user", content: "hi" }],
};
const bash = { name: "bash", input_schema: { type: "object" } };
const call = { type: "tool_use", id: "c1", name: "bash", input: {} };
const result = { type: "tool_result", tool_use_id: "c1", content: "ok" };
const text = { type: "text", text: "hi" };
const mark = { cache_control: { type: "ephemeral" } };
const picture = { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" } };

/** A conversation in which the assistant's and then the user's blocks follow a greeting. */
function after(said: object[], answered: object[]) {
  return {
    messages: [...body.messages, { role: "assistant", content: said }, { role: "user", content: answered }],
  };
}

async function post(change: object, sent: Record<string, string> = headers, to = service) {
  const response = await fetch(`${to.url}/v1/messages`, {
    method: "POST",
    headers: sent,
    body: JSON.stringify({ ...body, ...change }),
  });
  return { status: response.status, body: await response.text() };
}

describe("the fake Anthropic service", () => {
  test("answers a legal request, whole when it is not asked to stream", async () => {
    const { status, body: answer } = await post({});
    expect(status).toBe(200);
    expect(JSON.parse(answer)).toMatchObject({
      type: "message",
      content: [{ type: "text", text: "Hello." }],
      stop_reason: "end_turn",
    });
    expect((await post(after([call], [result, text]))).status).toBe(200);
  });

  test.each([
    ["no key", { "anthropic-version": "2023-06-01" }, 401],
    ["a wrong key", { ...headers, "x-api-key": "other" }, 401],
    ["no version", { "x-api-key": "test-key" }, 400],
    ["an unknown version", { ...headers, "anthropic-version": "2020-01-01" }, 400],
  ])("refuses %s", async (_, sent, status) => {
    expect((await post({}, sent)).status).toBe(status);
  });

  test.each<[string, object, RegExp]>([
    ["a temperature, of a model that thinks as it sees fit", { temperature: 1 }, /deprecated for this model/],
    ["unknown keys", { parallel: true }, /parallel: Extra inputs/],
    ["an unknown model", { model: "gpt-6-astra" }, /not_found_error/],
    ["more output than the model has", { max_tokens: 200_000 }, /max_tokens: 200000 > 128000/],
    ["an empty message", { messages: [{ role: "user", content: "" }] }, /messages\.0\.content/],
    [
      "blank text",
      { messages: [{ role: "user", content: [{ type: "text", text: " " }] }] },
      /non-whitespace/,
    ],
    [
      "an assistant at the start",
      { messages: [{ role: "assistant", content: "hi" }, ...body.messages] },
      /first message/,
    ],
    ["a prefill", { messages: [...body.messages, { role: "assistant", content: "Sure" }] }, /prefill/],
    [
      "a call without its result",
      after([call], [text]),
      /without `tool_result` blocks immediately after: c1/,
    ],
    ["a result after text", after([call], [text, result]), /without `tool_result` blocks immediately after/],
    ["a result without its call", after([text], [result]), /unexpected `tool_use_id`/],
    ["two results of one call", after([call], [result, result]), /single result/],
    ["two calls with one id", after([call, call], [result]), /must be unique/],
    [
      "images in a failed result",
      after([call], [{ ...result, content: [picture], is_error: true }]),
      /must be type `text`/,
    ],
    ["arguments that are no object", after([{ ...call, input: [] }], [result]), /input/],
    ["a bad tool name", { tools: [{ ...bash, name: "bash.run" }] }, /tools\.0\.name/],
    ["the same tool twice", { tools: [bash, bash] }, /Tool names must be unique/],
    ["forced tool use", { tools: [bash], tool_choice: { type: "any" } }, /forced tool use/],
    ["a choice without tools", { tool_choice: { type: "none" } }, /tool_choice/],
    [
      "a fifth cache mark",
      { system: Array.from({ length: 5 }, () => ({ ...text, ...mark })) },
      /maximum of 4 blocks/,
    ],
    [
      "a thought that it never had",
      after([{ type: "thinking", thinking: "Hm", signature: "c2ln" }, text], [text]),
      /Invalid `signature`/,
    ],
    [
      "a thought that nothing follows",
      after([{ type: "redacted_thinking", data: "c2ln" }], [text]),
      /final block in an assistant message cannot be/,
    ],
    [
      "a budget for thinking",
      { thinking: { type: "enabled", budget_tokens: 2_000 } },
      /thinking\.type\.enabled/,
    ],
    [
      "more than the window",
      { messages: [{ role: "user", content: "x".repeat(4_000_100) }] },
      /prompt is too long/,
    ],
  ])("refuses %s", async (_, change, words) => {
    const { status, body: refusal } = await post(change);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(JSON.parse(refusal)).toMatchObject({ type: "error", error: { type: expect.any(String) } });
    expect(refusal).toMatch(words);
  });

  test("takes a thought back only as it was and where it was", async () => {
    const content = [
      { type: "thinking" as const, thinking: "Hm." },
      { type: "text" as const, text: "Yes." },
    ];
    const thinker = await startFakeAnthropic({ replies: () => ({ content }) });
    const send = (change: object) => post(change, headers, thinker);
    const said: object[] = JSON.parse((await send({})).body).content;
    expect((await send(after(said, [text]))).status).toBe(200);
    expect((await send(after([{ ...said[0], thinking: "Other." }, text], [text]))).body).toMatch(
      /cannot be modified/,
    );
    expect((await send({ ...after(said, [text]), system: "New." })).body).toMatch(
      /bound to a different conversation/,
    );
    await thinker.close();
  });
});
