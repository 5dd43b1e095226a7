import { expect, test } from "vitest";
import { readRefusedWindow } from "../../../src/agent/context/refused-window.ts";

/** As the services word it; those of other gateways are told by their users' reports. */
test.each([
  // https://docs.anthropic.com/en/api/errors
  ["prompt is too long: 1210000 tokens > 1000000 maximum", 1_000_000],
  ["This model's maximum context length is 32768 tokens. However, you requested 40000 tokens.", 32_768],
  // vLLM: https://github.com/OpenBMB/MiniCPM-V/issues/1048
  ["The decoder prompt (length 2136) is longer than the maximum model length of 2048.", 2_048],
  // xAI: https://github.com/cline/cline/issues/3120
  ["This model's maximum prompt length is 131072 but the request contains 140000 tokens.", 131_072],
  ["The input exceeds the maximum allowed input length of 8,192 tokens.", 8_192],
  // Amazon Bedrock: https://github.com/continuedev/continue/issues/9592
  ["Input is too long for requested model.", undefined],
])("%s", (detail, window) => {
  expect(readRefusedWindow(detail)).toBe(window);
});
