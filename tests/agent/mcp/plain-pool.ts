import type { McpOffer } from "../../../src/agent/mcp/offer.ts";
import type { McpPool } from "../../../src/agent/mcp/pool.ts";
import type { Tool } from "../../../src/agent/tools/tool.ts";

/** A pool without servers, which offers what a test gives. */
export function plainPool(
  tools: readonly Tool[] = [],
  given: Partial<Pick<McpOffer, "instructions" | "renew">> = {},
): McpPool {
  const renew = async () => undefined;
  return {
    offer: async () => ({ tools: [...tools], instructions: [], renew, ...given }),
    readPrompt: async () => undefined,
    status: () => [],
    close: async () => {},
  };
}
