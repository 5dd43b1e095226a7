const number = String.raw`(\d[\d,_]*)`;

/** How services name their window when they refuse a request for its length. */
const spellings = [
  // Anthropic: "prompt is too long: 1210000 tokens > 1000000 maximum"
  new RegExp(`tokens\\s*>\\s*${number}\\s*maximum`, "i"),
  // OpenAI, vLLM, OpenRouter: "This model's maximum context length is 32768 tokens"
  new RegExp(`maximum context length is ${number}`, "i"),
  // xAI: "This model's maximum prompt length is 131072 but the request contains 140000 tokens."
  new RegExp(`maximum prompt length is ${number}`, "i"),
  // vLLM: "The decoder prompt (length 2136) is longer than the maximum model length of 2048."
  new RegExp(`maximum model length of ${number}`, "i"),
  // "exceeds the maximum allowed input length of 8192 tokens"
  new RegExp(`maximum allowed input length of ${number}`, "i"),
  // llama.cpp: "exceeds the available context size (8192 tokens)"
  new RegExp(`available context size \\(?${number}`, "i"),
];

/** The window that a service names in its refusal, in its own tokens; undefined where it names none. */
export function readRefusedWindow(detail: string): number | undefined {
  for (const spelling of spellings) {
    const digits = spelling.exec(detail)?.[1];
    if (digits !== undefined) return Number(digits.replaceAll(/[,_]/g, ""));
  }
  return undefined;
}
