import { z } from "zod";
import { boundAnswer } from "../../network/bounded-answer.ts";
import type { TokenPrice } from "../../model.ts";
import type { ModelFacts } from "../catalogue.ts";
import { answerBytes } from "../server-sent-events.ts";

const tokens = z.coerce.number().int().positive().nullish().catch(undefined);
/** US dollars for one token, as text; -1 where it depends on what answers. */
const tokenPrice = z.coerce.number().nonnegative().nullish().catch(undefined);

/**
 * What compatible services say in `GET /models` besides an id. OpenRouter (https://openrouter.ai/docs/models):
 * `context_length`, `top_provider`, `architecture.input_modalities`, `pricing`. vLLM (`ModelCard` in its
 * entrypoints/openai/protocol.py): `max_model_len`.
 */
const entry = z.object({
  id: z.string(),
  context_length: tokens,
  max_model_len: tokens,
  top_provider: z
    .object({ context_length: tokens, max_completion_tokens: tokens })
    .nullish()
    .catch(undefined),
  architecture: z
    .object({ input_modalities: z.array(z.string()) })
    .nullish()
    .catch(undefined),
  pricing: z
    .object({
      prompt: tokenPrice,
      completion: tokenPrice,
      input_cache_read: tokenPrice,
      input_cache_write: tokenPrice,
    })
    .nullish()
    .catch(undefined),
});

const list = z.object({ data: z.array(z.unknown()) });

/** What the list says of a model; undefined when it is not in it. */
export function readModelList(answer: unknown, model: string): Partial<ModelFacts> | undefined {
  const entries = list.safeParse(answer).data?.data.map((one) => entry.safeParse(one).data);
  const found = entries?.find((one) => one?.id === model);
  if (!found) return undefined;
  const { context_length, max_model_len, top_provider, architecture, pricing } = found;
  const contextTokens = top_provider?.context_length ?? context_length ?? max_model_len;
  const maxOutputTokens = top_provider?.max_completion_tokens;
  const price = pricing && readPrice(pricing);
  return {
    ...(contextTokens && { contextTokens }),
    ...(maxOutputTokens && { maxOutputTokens }),
    ...(architecture && { images: architecture.input_modalities.includes("image") }),
    ...(price && { price }),
  };
}

function readPrice(
  pricing: NonNullable<NonNullable<z.infer<typeof entry>["pricing"]>>,
): TokenPrice | undefined {
  const { prompt, completion } = pricing;
  if (typeof prompt !== "number" || typeof completion !== "number") return undefined;
  const million = (each: number) => Number((each * 1_000_000).toFixed(6));
  return {
    input: million(prompt),
    output: million(completion),
    cacheRead: million(pricing.input_cache_read ?? prompt),
    cacheWrite: million(pricing.input_cache_write ?? prompt),
  };
}

const shown = z.object({
  parameters: z.string().optional().catch(undefined),
  model_info: z.record(z.string(), z.unknown()),
  capabilities: z.array(z.string()).optional().catch(undefined),
});
const loaded = z.object({ models: z.array(z.object({ model: z.string(), context_length: tokens })) });

/**
 * What Ollama says of a model (https://docs.ollama.com/api-reference/show-model-details, .../ps). The window that it
 * uses is `num_ctx` of the model, else that of the running one; what the weights can do is only its upper bound.
 */
export async function askOllama(
  baseUrl: string,
  model: string,
  signal: AbortSignal,
): Promise<Partial<ModelFacts>> {
  const ask = async (path: string, init: RequestInit): Promise<unknown> => {
    const answer = await fetch(new URL(path, baseUrl), { ...init, signal, redirect: "error" });
    const response = boundAnswer(answer, answerBytes);
    return response.ok ? response.json() : undefined;
  };
  const body = JSON.stringify({ model });
  const details = shown.safeParse(
    await ask("/api/show", { method: "POST", body, headers: { "content-type": "application/json" } }),
  ).data;
  if (!details) return {};
  const running = loaded.safeParse(await ask("/api/ps", {})).data?.models.find((one) => one.model === model);
  const own = Number(/^num_ctx\s+(\d+)$/m.exec(details.parameters ?? "")?.[1]);
  const most = Object.entries(details.model_info).find(([key]) => key.endsWith(".context_length"))?.[1];
  const contextTokens = own || running?.context_length || (typeof most === "number" ? most : undefined);
  return {
    ...(contextTokens && { contextTokens }),
    ...(details.capabilities && { images: details.capabilities.includes("vision") }),
  };
}
