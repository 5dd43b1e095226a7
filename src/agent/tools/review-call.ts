import type { PolicyDecision } from "../policy-decision.ts";
import { runBounded } from "./bounded-run.ts";
import type { Tool, ToolServices } from "./tool.ts";

/** A review reads what a call is about: a difference, a host's addresses. */
const reviewMs = 120_000;

/**
 * What the tool itself says about a call. Ends with the turn, and after two minutes at the latest: whatever it waits for
 * may be silent for ever. A call that could not be looked at does not run.
 *
 * @param options.reportError records that the review threw, and returns the trace id
 */
export async function reviewCall(
  tool: Tool,
  input: unknown,
  options: { services: ToolServices; signal: AbortSignal; reportError(error: unknown): string },
): Promise<PolicyDecision> {
  const { review } = tool;
  if (!review) return { action: "allow" };
  const { services, signal, reportError } = options;
  const bounds = { signal, timeoutMs: reviewMs, graceMs: 0 };
  const ending = await runBounded(async (either) => review(input, services, either), bounds);
  switch (ending.kind) {
    case "returned":
      return ending.result;
    case "threw":
      return {
        action: "deny",
        why: `looking at the call failed unexpectedly (trace ${reportError(ending.error)}).`,
      };
    case "abandoned":
      return { action: "deny", why: "what it is about could not be looked at in time." };
  }
}
