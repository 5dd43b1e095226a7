import Anthropic, { APIError } from "@anthropic-ai/sdk";
import { z } from "zod";
import { resolveBaseUrl } from "../endpoints.ts";
import { type Effort, efforts } from "../../model.ts";
import { streamFetch } from "../stream-fetch.ts";
import type { FactsSource } from "../facts-source.ts";

/** Where the Anthropic protocol is spoken, and with which key. */
export interface AnthropicAccount {
  /** Without one none is sent. */
  apiKey?: string | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
  /** Default: Anthropic's own service. Any compatible service or proxy may stand here. */
  baseUrl?: string | undefined;
  /** Replaces `streamFetch`, for tests. */
  fetch?: typeof fetch | undefined;
}

const ownService = "https://api.anthropic.com";

/**
 * A client that does nothing by itself: no retries, no logging, no tracing, nothing from the environment.
 *
 * Since 1.0 the SDK sends a Bearer token and a version that compatible services do not know. These get the
 * version that all of them know, and the key in both headers, because each of them reads another one.
 */
export function createAnthropicClient(account: AnthropicAccount): Anthropic {
  const { apiKey, baseUrl = ownService, headers, fetch = streamFetch } = account;
  const url = resolveBaseUrl(baseUrl, "anthropic");
  const own = URL.parse(url)?.hostname === new URL(ownService).hostname;
  return new Anthropic({
    // Without any the SDK would look for one by itself.
    apiKey: apiKey ?? "none",
    baseURL: url,
    maxRetries: 0,
    logLevel: "off",
    openTelemetry: false,
    defaultHeaders: {
      ...(!own && { "anthropic-version": "2023-06-01", "X-Api-Key": apiKey ?? null }),
      ...(apiKey === undefined && { Authorization: null }),
      ...headers,
    },
    fetch,
  });
}

const modelInfo = z.object({
  max_input_tokens: z.int().positive().nullish(),
  max_tokens: z.int().positive().nullish(),
  capabilities: z
    .object({
      effort: z
        .record(z.string(), z.union([z.boolean(), z.object({ supported: z.boolean() }), z.null()]))
        .nullish(),
      image_input: z.object({ supported: z.boolean() }),
      thinking: z.object({ types: z.object({ adaptive: z.object({ supported: z.boolean() }) }) }),
    })
    .nullish(),
});

/** `EffortCapability` of the SDK: each level by its name, and beside them whether there are any. */
function readEfforts(capability: Record<string, unknown>): Effort[] {
  return efforts.filter((level) => {
    const support = capability[level];
    return typeof support === "object" && support !== null && "supported" in support && support.supported;
  });
}

/** The service's model endpoint says what a model can take; it knows no prices. */
export const anthropicFacts: FactsSource = {
  async fetchFacts(model, account, signal) {
    const { max_input_tokens, max_tokens, capabilities } = modelInfo.parse(
      await createAnthropicClient(account).models.retrieve(model, null, { signal }),
    );
    return {
      ...(max_input_tokens && { contextTokens: max_input_tokens }),
      ...(max_tokens && { maxOutputTokens: max_tokens }),
      ...(capabilities && {
        ...(capabilities.effort && { efforts: readEfforts(capabilities.effort) }),
        images: capabilities.image_input.supported,
        adaptiveThinking: capabilities.thinking.types.adaptive.supported,
      }),
    };
  },
  readAnswer(error) {
    return error instanceof APIError ? { status: error.status, code: error.type ?? "" } : undefined;
  },
};
