import { describe, expect, test } from "vitest";
import { toNetworkFailure, toServiceFailure } from "../../../src/agent/llm/errors.ts";

describe("serviceFailure", () => {
  test.each([
    [400, "messages: at least one message is required", "invalid-request"],
    [400, "prompt is too long: 210000 tokens > 200000 maximum", "overflow"],
    [400, "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000", "overflow"],
    [400, "This model's maximum context length is 128000 tokens", "overflow"],
    [400, "the request exceeds the available context size", "overflow"],
    // Bedrock, vLLM (two), xAI, and a gateway before others.
    [400, "Input is too long for requested model.", "overflow"],
    [400, "The decoder prompt (length 2136) is longer than the maximum model length of 2048.", "overflow"],
    [400, "max_tokens must be at least 1, got -186.", "overflow"],
    [400, "This model's maximum prompt length is 131072 but the request contains 140000 tokens.", "overflow"],
    [400, "The input exceeds the maximum allowed input length of 8192 tokens.", "overflow"],
    [400, "max_tokens must be at least 1, got 0.", "invalid-request"],
    [413, "Request exceeds the maximum size", "overflow"],
    [400, "Your credit balance is too low to access the API", "quota"],
    [400, "Output blocked by content filtering policy", "content-filter"],
    [
      400,
      "Invalid prompt: your prompt was flagged as potentially violating our usage policy.",
      "content-filter",
    ],
    [401, "invalid x-api-key", "auth"],
    [403, "Your API key does not have permission", "auth"],
    [402, "Payment required", "quota"],
    [404, "model: claude-9", "not-found"],
    [408, "", "transient"],
    [409, "", "transient"],
    [422, "", "invalid-request"],
    [429, "Number of request tokens has exceeded your per-minute rate limit", "transient"],
    [429, "You can raise the limit on your billing page", "transient"],
    [429, "You exceeded your current quota, please check your plan", "quota"],
    [500, "Internal server error", "transient"],
    [503, "", "transient"],
    [529, "Overloaded", "transient"],
  ] as const)("HTTP %i %j is of kind %s", (status, detail, kind) => {
    expect(toServiceFailure({ status, detail })).toMatchObject({ kind, detail });
  });

  test("an error code decides where the words do not", () => {
    expect(toServiceFailure({ status: 400, code: "context_length_exceeded", detail: "too big" }).kind).toBe(
      "overflow",
    );
    expect(toServiceFailure({ status: 429, code: "insufficient_quota", detail: "no" }).kind).toBe("quota");
    expect(toServiceFailure({ status: 400, code: "bio_policy", detail: "no" }).kind).toBe("content-filter");
  });

  test("the sentence names the status and never repeats the service's words", () => {
    const failure = toServiceFailure({
      status: 401,
      detail: "Incorrect API key provided: sk-secret at https://host/x",
    });
    expect(failure.message).toBe(
      "The model service refused the API key (HTTP 401); the administrator must check it.",
    );
  });

  test.each([
    [{ "retry-after": "7" }, 7_000],
    [{ "retry-after": "0.5" }, 500],
    [{ "retry-after-ms": "1500", "retry-after": "7" }, 1_500],
    [{ "retry-after": "soon" }, undefined],
    [{ "retry-after": "-3" }, undefined],
    [{}, undefined],
  ])("reads the wait %j as %s ms", (headers, expected) => {
    expect(toServiceFailure({ status: 429, detail: "", headers: new Headers(headers) }).retryAfterMs).toBe(
      expected,
    );
  });

  test("reads a wait that is a date", () => {
    const headers = new Headers({ "retry-after": new Date(Date.now() + 30_000).toUTCString() });
    const { retryAfterMs } = toServiceFailure({ status: 503, detail: "", headers });
    expect(retryAfterMs).toBeGreaterThan(10_000);
    expect(retryAfterMs).toBeLessThanOrEqual(30_000);
  });

  test("keeps no more of the service's words than the log needs", () => {
    expect(toServiceFailure({ status: 502, detail: "<html>".repeat(10_000) }).detail).toHaveLength(2_000);
  });
});

describe("networkFailure", () => {
  test("names the system's error code, and no host", () => {
    const cause = Object.assign(new Error("connect ECONNREFUSED 10.0.0.1:443"), { code: "ECONNREFUSED" });
    const failure = toNetworkFailure(new TypeError("fetch failed", { cause }));
    expect(failure).toMatchObject({
      kind: "transient",
      message: "The connection to the model service failed (ECONNREFUSED)",
    });
  });

  test("does without a code", () => {
    expect(toNetworkFailure("gone").message).toBe("The connection to the model service failed");
  });
});
