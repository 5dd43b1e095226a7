import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { get_encoding } from "tiktoken";

const wasm = get_encoding("o200k_base");

/** Counters of o200k tokens by their package. */
export const counters: Record<string, (text: string) => number> = {
  "gpt-tokenizer": (text) => countTokens(text),
  "tiktoken (WASM)": (text) => wasm.encode(text).length,
};
