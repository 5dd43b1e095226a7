import { type Context, type Span, SpanKind, SpanStatusCode, trace, type Tracer } from "@opentelemetry/api";
import type { AgentEvent } from "../agent/events.ts";
import type { AssistantMessage, UserMessage } from "../agent/messages.ts";
import type { Usage } from "../agent/model.ts";
import type { ThreadId } from "../chat/threads.ts";
import type { OutboxEntry } from "../queue/outbox/contracts.ts";
import type { ShownTurn, TurnDisplay } from "../queue/turns/contracts.ts";
import { contextBehind, formatTraceparent, remoteSpan } from "./trace-context.ts";
import { type Content, formatInputMessages, formatOutputMessages } from "./trace-messages.ts";

interface TracedTurn {
  thread: ThreadId;
  turn: ShownTurn;
  content: Content | undefined;
}

/**
 * The spans of one turn: itself, its model calls and its tools. Names and attributes follow OpenTelemetry's GenAI
 * conventions (https://opentelemetry.io/docs/specs/semconv/gen-ai/); what these do not name begins with `heddle.`.
 */
export function turnSpans(tracer: Tracer, display: TurnDisplay, traced: TracedTurn): TurnDisplay {
  const { content } = traced;
  const calls = createCallSpans(tracer, content);
  let span: Span | undefined;
  const asked: UserMessage[] = [];

  return {
    ...display,
    took(messages) {
      if (span) {
        for (const link of toLinks(messages)) span.addLink(link);
      } else {
        span = begin(tracer, traced, messages);
        calls.follow(span);
      }
      asked.push(...messages);
      if (content) span.setAttribute("gen_ai.input.messages", formatInputMessages(asked, content));
      display.took(messages);
    },
    event(event) {
      if (event.type === "summary") span?.addEvent("summary", { before: event.before, after: event.after });
      else calls.record(event);
      display.event(event);
    },
    closing(receipt) {
      const { kind, steps, usage } = receipt.outcome;
      span?.setAttributes({ "heddle.outcome": kind, "heddle.steps": steps, ...toUsageAttributes(usage) });
      calls.endModel("", kind === "model-error");
      if (kind === "model-error") span?.setStatus({ code: SpanStatusCode.ERROR });
      const entries = display.closing(receipt);
      return span ? withTrace(entries, formatTraceparent(span)) : entries;
    },
    // The last that every turn does here, however it ends; its posts follow, as children that end later.
    async close() {
      calls.endAll();
      span?.end();
      return display.close();
    },
  };
}

interface CallSpans {
  /** Begins behind the turn's own span from here on. */
  follow(turn: Span): void;
  record(event: AgentEvent): void;
  endModel(within: string, failed: boolean): void;
  endAll(): void;
}

/** The spans of the model calls and tools of one turn and of its sub-agents. */
function createCallSpans(tracer: Tracer, content: Content | undefined): CallSpans {
  const tools = new Map<string, Span>();
  /** The model call under way: that of the turn, and those of its sub-agents by the call that they work in. */
  const models = new Map<string, Span>();
  let context: Context = contextBehind(undefined);

  const findContext = (within: string) => {
    const outer = tools.get(within);
    return outer ? trace.setSpan(context, outer) : context;
  };

  function endModel(within: string, failed: boolean): void {
    const model = models.get(within);
    models.delete(within);
    if (failed) model?.setStatus({ code: SpanStatusCode.ERROR });
    model?.end();
  }

  function startModel(step: number, within: string): void {
    // Still open: the model failed, and another one or a shorter request follows.
    endModel(within, true);
    const attributes = { "gen_ai.operation.name": "chat", "heddle.step": step };
    models.set(within, tracer.startSpan("chat", { kind: SpanKind.CLIENT, attributes }, findContext(within)));
  }

  function recordReply({ message, usage }: EventOf<"assistant">, within: string): void {
    const model = models.get(within);
    model?.updateName(`chat ${message.model}`);
    model?.setAttributes({ ...toModelAttributes(message), ...toUsageAttributes(usage) });
    if (content) model?.setAttribute("gen_ai.output.messages", formatOutputMessages(message, content));
    endModel(within, false);
  }

  function startTool({ call: { id, name, input }, step }: EventOf<"tool-start">, within: string): void {
    const attributes = {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": name,
      "gen_ai.tool.call.id": id,
      "heddle.step": step,
      ...(content && { "gen_ai.tool.call.arguments": content(JSON.stringify(input)) }),
    };
    const tool = tracer.startSpan(`execute_tool ${name}`, { attributes }, findContext(within));
    tools.set(toKey(within, id), tool);
  }

  function endTool({ message: { callId, status, text } }: EventOf<"tool-end">, within: string): void {
    const key = toKey(within, callId);
    // Of a sub-agent that was cut short.
    endModel(key, false);
    const tool = tools.get(key);
    tools.delete(key);
    tool?.setAttribute("heddle.tool.status", status);
    if (status === "error") tool?.setStatus({ code: SpanStatusCode.ERROR });
    if (content) tool?.setAttribute("gen_ai.tool.call.result", content(text));
    tool?.end();
  }

  /** @param within the call whose sub-agent does it; its calls have ids of their own */
  function record(event: AgentEvent, within = ""): void {
    switch (event.type) {
      case "step-start":
        return startModel(event.step, within);
      case "retry":
        models.get(within)?.addEvent("retry", { attempt: event.attempt, reason: event.reason });
        return;
      case "assistant":
        return recordReply(event, within);
      case "tool-start":
        return startTool(event, within);
      case "tool-end":
        return endTool(event, within);
      case "helper":
        return record(event.event, event.callId);
      default:
        return;
    }
  }

  return {
    follow(turn) {
      context = trace.setSpan(context, turn);
    },
    record,
    endModel,
    endAll() {
      for (const open of [...models.values(), ...tools.values()]) open.end();
    },
  };
}

type EventOf<Type extends AgentEvent["type"]> = Extract<AgentEvent, { type: Type }>;

function toKey(within: string, id: string): string {
  return within ? `${within}/${id}` : id;
}

function begin(tracer: Tracer, { thread, turn }: TracedTurn, messages: readonly UserMessage[]): Span {
  const [first, ...others] = messages;
  const attributes = {
    "gen_ai.operation.name": "invoke_agent",
    "gen_ai.agent.name": "heddle",
    "gen_ai.conversation.id": thread,
    "heddle.turn": turn.id,
    "heddle.resumed": turn.resumed,
  };
  const links = toLinks(others);
  return tracer.startSpan(
    "invoke_agent heddle",
    // The part before an interruption has a span of its own, from the worker that ran it.
    { attributes, links, ...(!turn.resumed && { startTime: turn.startedAt }) },
    contextBehind(first?.trace),
  );
}

function toLinks(messages: readonly UserMessage[]) {
  return messages.flatMap((message) => {
    const context = remoteSpan(message.trace);
    return context ? [{ context }] : [];
  });
}

function toModelAttributes({ model, stop }: AssistantMessage) {
  const [provider = "", ...name] = model.split("/");
  return {
    "gen_ai.provider.name": provider,
    "gen_ai.request.model": name.join("/"),
    "gen_ai.response.finish_reasons": [stop],
  };
}

/** In these conventions the input includes what a cache held. */
function toUsageAttributes({ input, output, cacheRead, cacheWrite, cost }: Usage) {
  return {
    "gen_ai.usage.input_tokens": input + cacheRead + cacheWrite,
    "gen_ai.usage.output_tokens": output,
    "gen_ai.usage.cache_read.input_tokens": cacheRead,
    "gen_ai.usage.cache_creation.input_tokens": cacheWrite,
    "heddle.cost_dollars": cost,
  };
}

/** With the trace in each post, so that whoever makes it, now or after a crash, goes on with it. */
function withTrace(entries: Record<string, OutboxEntry>, parent: string): Record<string, OutboxEntry> {
  return Object.fromEntries(
    Object.entries(entries).map(([key, entry]) => [
      key,
      entry.do === "post" ? { ...entry, message: { ...entry.message, trace: parent } } : entry,
    ]),
  );
}
