import type { AgentEvent } from "../events.ts";
import type { AssistantMessage } from "../messages.ts";
import { ModelError, type Usage } from "../model.ts";
import { unwrapDeferredCalls, wrapDeferredCalls } from "./calls/deferred-calls.ts";
import type { TurnState } from "./state.ts";
import { withUniqueCallIds } from "./calls/unique-call-ids.ts";

/** How a model call went. A `message` without parts is an empty reply, which nobody stores. */
export type Reply =
  | { kind: "message"; message: AssistantMessage; usage: Usage }
  | { kind: "failed"; error: ModelError }
  | { kind: "aborted" };

/** Makes one model call. Throws where the model breaks the contract of `LanguageModel.stream`. */
export async function* callModel(
  state: TurnState,
  step: number,
  toolChoice: "auto" | "none",
): AsyncGenerator<AgentEvent, Reply> {
  const { turn, model, messages, system, tools } = state;
  const sent = wrapDeferredCalls(messages, tools.wasFound);
  const request = { system, messages: sent, tools: tools.definitions, toolChoice };
  const troubles: string[] = [];
  let said = "";
  yield { type: "step-start", step };
  try {
    for await (const event of model.stream(request, turn.signal)) {
      switch (event.type) {
        case "begun":
          break;
        case "text":
          said += event.delta;
          yield { type: "text-delta", step, delta: event.delta };
          break;
        case "thinking":
          yield { type: "thinking-delta", step, delta: event.delta };
          break;
        case "retry":
          said = "";
          troubles.push(`${event.reason} Tried again after ${(event.delayMs / 1_000).toFixed(1)} s.`);
          yield { ...event, step };
          break;
        case "fallback": {
          said = "";
          const text = `${event.reason} Going on with ${event.model}.`;
          troubles.push(text);
          yield { type: "step-start", step };
          yield { type: "notice", text };
          break;
        }
        case "done": {
          const { usage } = event;
          const reply = unwrapDeferredCalls(event.message, tools.deferred);
          const message = withUniqueCallIds(reply, messages);
          if (message.parts.length > 0) {
            turn.context.measure(message);
            const told = troubles.length > 0 && { troubles };
            yield { type: "assistant", step, message, usage, ...told };
          }
          return { kind: "message", message, usage };
        }
      }
    }
  } catch (error) {
    if (turn.signal.aborted) {
      state.keepUnfinished(said);
      return { kind: "aborted" };
    }
    if (error instanceof ModelError) return { kind: "failed", error };
    throw error;
  }
  throw new Error(`The model ${model.id} ended its stream without a final event.`);
}
