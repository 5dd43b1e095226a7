import { z } from "zod";
import { efforts } from "../agent/model.ts";
import { count, modelName } from "./values.ts";

/** What `heddle.yaml` says about single models. */

const price = (what: string) => z.number().nonnegative().describe(what);

export const headers = z
  .record(z.string().regex(/^[A-Za-z0-9-]+$/, "expected the name of a header, e.g. X-Team"), z.string())
  .describe(
    "sent with each request; ${NAME} stands for a variable of the environment or .env, and is masked",
  );

export const modelsSchema = z
  .record(
    modelName,
    z.strictObject({
      contextTokens: count(1_000, 100_000_000)
        .exactOptional()
        .describe("context window: prompt and reply together"),
      maxOutputTokens: count(100, 10_000_000).exactOptional().describe("the longest reply"),
      images: z.boolean().exactOptional().describe("whether it accepts images"),
      price: z
        .strictObject({
          input: price("of uncached prompt tokens"),
          output: price("of the reply"),
          cacheRead: price("of prompt tokens read from the cache"),
          cacheWrite: price("of prompt tokens written to the cache"),
        })
        .exactOptional()
        .describe("US dollars per million tokens"),
      webSearch: z
        .strictObject({ price: z.number().nonnegative().describe("US dollars of one search") })
        .exactOptional()
        .describe(
          "says that its service searches the web itself, for web.search: model; known of Anthropic's and OpenAI's own",
        ),
      effort: z
        .enum(efforts)
        .exactOptional()
        .describe("how hard it thinks; without it the service's default. No model takes all of them"),
      thinkingTokens: count(1_024, 1_000_000)
        .exactOptional()
        .describe(
          "most tokens of thinking in a reply, for Claude models before 4.6 and services like theirs",
        ),
      temperature: z
        .number()
        .min(0)
        .max(2)
        .exactOptional()
        .describe("for models that do not think; others refuse it"),
      cacheTtl: z
        .enum(["5m", "1h"])
        .exactOptional()
        .describe(
          "how long Anthropic keeps a prompt in its cache; 1h is worth its dearer writes where people answer slowly",
        ),
      serviceTier: z
        .string()
        .min(1)
        .exactOptional()
        .describe("the service's name for it, e.g. standard_only (Anthropic), flex or priority (OpenAI)"),
      headers: headers.exactOptional(),
      body: z
        .record(z.string(), z.unknown())
        .exactOptional()
        .describe("more fields of each request, as the service names them, e.g. { top_k: 20 }"),
    }),
  )
  .default({})
  .describe(
    "limits, prices and request options of models, by name; these take precedence over what the service says",
  );
