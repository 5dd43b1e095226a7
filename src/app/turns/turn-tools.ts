import type { TokenCounter } from "../../agent/context/tokens.ts";
import { createTaskTool, type SubAgentOptions } from "../../agent/loop/sub-agent.ts";
import type { ModelLimits } from "../../agent/model.ts";
import { createGetSkillTool } from "../../agent/skills/get-skill.ts";
import type { Skill } from "../../agent/skills/library.ts";
import { askUser } from "../../agent/tools/ask-user.ts";
import { createSandboxTools, createSessionTools } from "../../agent/tools/built-in.ts";
import { areFound, createDeferredAccess, deferTools } from "../../agent/tools/dispatch/deferred-tools.ts";
import {
  createDispatcher,
  type Dispatcher,
  type DispatcherOptions,
} from "../../agent/tools/dispatch/dispatch.ts";
import { createPreviewTools } from "../../agent/tools/previews.ts";
import { createRepositoryTools } from "../../agent/tools/repositories/repositories.ts";
import type { Tool } from "../../agent/tools/tool.ts";
import { createWebTools } from "../../agent/tools/web-search.ts";
import type { TurnRunner } from "../../queue/turns/contracts.ts";
import { type ChannelSettings, isListed } from "../channel-settings.ts";

export interface TurnToolsOptions {
  /** What the turn's calls and those of its sub-agents share. */
  dispatch: Omit<DispatcherOptions, "tools" | "output">;
  subAgent: Omit<SubAgentOptions, "tools" | "createDispatcher" | "mask" | "onEvent" | "system">;
  skills: readonly Skill[];
  /** What the turn's model takes. */
  limits: ModelLimits;
  counter: Pick<TokenCounter, "countFixed">;
  /** Names of the tools that the channel allows. */
  allowed: ChannelSettings["tools"] | undefined;
  /** Puts a plan to people; it can do nothing else, so no list of tools leaves it out. */
  proposePlan: Tool;
  emit: Parameters<TurnRunner["run"]>[0]["emit"];
}

/** What MCP servers add: their tools, and the system prompt with what they say about them. */
export interface ServerParts {
  tools: readonly Tool[];
  system: string;
}

/**
 * The tools of one turn: those of the sandbox, the session, its skills and servers, and sub-agents. Called again when
 * the servers' tools have changed; the others keep what they know.
 */
export function createTurnTools(options: TurnToolsOptions): (servers: ServerParts) => Dispatcher {
  const { dispatch, subAgent, skills, allowed, emit, limits, counter } = options;
  const isAllowed = ({ name }: Tool) => isListed(allowed, name);
  const { sandbox, web, previews, repositories } = dispatch.services;
  const makeTools = () => [
    ...(sandbox ? createSandboxTools() : []),
    ...(sandbox && previews ? createPreviewTools(previews) : []),
    ...createSessionTools(),
    ...(sandbox && repositories ? createRepositoryTools(repositories) : []),
    ...(web ? createWebTools(web) : []),
    ...(skills.length > 0 ? [createGetSkillTool(skills)] : []),
  ];
  const own = makeTools();
  const open = (tools: readonly Tool[], given: ModelLimits, rest: Pick<DispatcherOptions, "output"> = {}) => {
    const { sent, deferred } = deferTools(tools, given, counter);
    const access = areFound(deferred, sent) ? createDeferredAccess(deferred, sent) : [];
    return createDispatcher({ ...dispatch, ...rest, tools: [...sent, ...access], deferred });
  };
  return ({ tools, system }) => {
    const task = createTaskTool({
      ...subAgent,
      system,
      tools: () => [...makeTools(), ...tools].filter(isAllowed),
      onEvent: (callId, event) => emit({ type: "helper", callId, event }),
      createDispatcher: (given) => open(given, subAgent.model.limits),
      mask: (text) => dispatch.masker.mask(text),
    });
    return open([...[...own, ...tools, askUser, task].filter(isAllowed), options.proposePlan], limits, {
      output: (callId, chunk) => void emit({ type: "tool-output", callId, chunk }),
    });
  };
}
