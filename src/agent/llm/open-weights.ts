/** What a host can make of open weights: less, if it is started with a smaller window; then the service says so. */
interface OpenWeights {
  contextTokens: number;
  images: boolean;
}

/** By how the names begin, which differ by host: `Qwen/Qwen3-Coder-30B-A3B-Instruct`, `qwen3-coder:30b`. */
const families: readonly [name: RegExp, contextTokens: number, images?: true][] = [
  // As published with the weights, in the model cards and `max_position_embeddings` of config.json.
  [/^qwen3-(coder|next)/, 262_144],
  [/^qwen3-vl/, 262_144, true],
  [/^qwen3-.*-2507/, 262_144],
  [/^qwen3/, 40_960],
  [/^qwen2\.5/, 32_768],
  [/^gpt-oss/, 131_072],
  [/^deepseek-(v3|r1|chat|reasoner)/, 131_072],
  [/^kimi-k2/, 131_072],
  [/^glm-4\.[67]/, 200_000],
  [/^glm-4\.5v/, 65_536, true],
  [/^glm-4\.5/, 131_072],
  [/^llama-?4/, 1_048_576, true],
  [/^(meta-)?llama-?3\.[123]/, 131_072],
  [/^(mistral-small-?3|ministral-3)/, 131_072, true],
  [/^devstral/, 131_072],
  [/^gemma-?3/, 131_072, true],
  [/^minimax-m2/, 196_608],
];

/** What is known of common open weights by their name, whatever the host has put before it. */
export function findOpenWeights(model: string): OpenWeights | undefined {
  const name = model.slice(model.lastIndexOf("/") + 1).toLowerCase();
  const family = families.find(([pattern]) => pattern.test(name));
  return family && { contextTokens: family[1], images: family[2] ?? false };
}
