import type { UserMessage } from "../../agent/messages.ts";
import type { PolicyDecision } from "../../agent/policy-decision.ts";
import { createPolicy, type Policy } from "../../agent/policy/policy.ts";
import type { ThreadId } from "../../chat/threads.ts";
import type { Access } from "../../intake/access.ts";
import { checkPermission } from "../../intake/recheck-permission.ts";
import type { ChatSurface } from "../../chat/surface.ts";
import type { Settings } from "../../config/schema.ts";
import type { Configuration } from "./live-configuration.ts";

/** The rules in force at the time of each call, also of a turn that began under others. */
export function createLivePolicy(configuration: Pick<Configuration, "current">): Policy {
  let known: { rules: Settings["tools"]; policy: Policy } | undefined;
  return (tool, input) => {
    const rules = configuration.current().settings.tools;
    if (known?.rules !== rules) known = { rules, policy: createPolicy(rules.rules, rules.default) };
    return known.policy(tool, input);
  };
}

const allowed: PolicyDecision = { action: "allow" };

/**
 * Holds back the calls of a turn when none of the people it works for may give work any more. Whoever wrote before
 * the access rules changed is looked up once for each such change; who cannot be looked up may not.
 */
export function createPermit(deps: {
  configuration: Pick<Configuration, "since">;
  access: Pick<Access, "mayAsk">;
  surface(platform: string): ChatSurface;
}): (thread: ThreadId, asked: readonly UserMessage[]) => () => Promise<PolicyDecision> {
  return (thread, asked) => {
    let known: { since: number; asked: number; decision: PolicyDecision } | undefined;
    return async () => {
      const since = deps.configuration.since("access");
      if (asked.length === 0 || asked.some(({ at }) => at >= since)) return allowed;
      if (known?.since !== since || known.asked !== asked.length) {
        known = { since, asked: asked.length, decision: await decide(thread, asked, deps) };
      }
      return known.decision;
    };
  };
}

async function decide(
  thread: ThreadId,
  asked: readonly UserMessage[],
  deps: Parameters<typeof checkPermission>[2],
): Promise<PolicyDecision> {
  const people = new Map(asked.map(({ author }) => [author.id, author]));
  let why = "";
  for (const person of people.values()) {
    const found = await check(thread, person, deps);
    if (found.allowed) return allowed;
    why = found.why;
  }
  return { action: "deny", why };
}

async function check(...given: Parameters<typeof checkPermission>) {
  try {
    return await checkPermission(...given);
  } catch {
    return {
      allowed: false as const,
      why: "Who may give work has changed, and the platform does not say at the moment whether this person still may.",
    };
  }
}
