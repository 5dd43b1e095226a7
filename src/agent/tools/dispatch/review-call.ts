import type { ToolCall } from "../../messages.ts";
import type { PolicyDecision } from "../../policy-decision.ts";
import { runBounded } from "./bounded-run.ts";
import type { CallRun } from "./run-tool.ts";
import type { Tool, ToolServices } from "../tool.ts";

/** A review reads what a call is about: a difference, a host's addresses. */
const reviewMs = 120_000;

/** What the tools of a turn say about their calls before these run. */
export interface Reviews {
  /**
   * Has the tool look at the call. Ends with the turn, and after two minutes at the latest: whatever it waits for may be
   * silent for ever. A call that could not be looked at is denied.
   */
  review(run: Pick<CallRun, "call" | "signal">, tool: Tool, input: unknown): Promise<PolicyDecision>;
  /** What was said last. */
  find(call: ToolCall): PolicyDecision;
}

/** @param reportError records that a review threw, and returns the trace id */
export function createReviews(
  services: ToolServices,
  reportError: (call: ToolCall, error: unknown) => string,
): Reviews {
  const said = new Map<string, PolicyDecision>();

  const look = async (
    { call, signal }: Pick<CallRun, "call" | "signal">,
    { review }: Tool,
    input: unknown,
  ): Promise<PolicyDecision> => {
    if (!review) return { action: "allow" };
    const bounds = { signal, timeoutMs: reviewMs, graceMs: 0 };
    const ending = await runBounded(async (either) => review(input, services, either), bounds);
    switch (ending.kind) {
      case "returned":
        return ending.result;
      case "threw":
        return {
          action: "deny",
          why: `looking at the call failed unexpectedly (trace ${reportError(call, ending.error)}).`,
        };
      case "abandoned":
        return { action: "deny", why: "what it is about could not be looked at in time." };
    }
  };

  return {
    async review(run, tool, input) {
      const decision = await look(run, tool, input);
      said.set(run.call.id, decision);
      return decision;
    },
    find: ({ id }) => said.get(id) ?? { action: "allow" },
  };
}
