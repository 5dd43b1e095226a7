import { expect, test } from "vitest";
import { converse } from "./converse.ts";

// `npm run test:long` has the whole of it: 300 rounds, windows up to a million tokens.
test.each(["anthropic", "openai-chat"] as const)(
  "A long conversation over %s loses nothing and does not die",
  async (protocol) => {
    const found = await converse({ protocol, window: 16_000, rounds: 70 });
    expect(found).toMatchObject({ lostWords: 0, repeatedRefusals: 0, failedTurns: 0 });
    expect(found.summariesInEightSteps).toBeLessThanOrEqual(1);
  },
);
