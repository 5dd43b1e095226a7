import type { AgentEvent } from "../agent/events.ts";
import { nameEnding } from "../agent/silence.ts";
import type { Logger } from "./log.ts";
import type { Observer } from "./observer.ts";

/**
 * A line for each turn that begins and ends, and on the level `debug` for each step and tool, with the thread,
 * the turn and the step. Never what somebody wrote, what a tool was given, or what it answered.
 */
export function turnLogObserver(log: Logger): Observer {
  return {
    display(display, thread, { id, resumed }) {
      const turnLog = log.child({ thread, turn: id });
      let step = 0;
      let began = false;
      return {
        ...display,
        took(messages) {
          const figures = { messages: messages.length };
          if (began) turnLog.info({ step, ...figures }, "the turn took more messages");
          else turnLog.info(figures, resumed ? "the turn goes on" : "the turn begins");
          began = true;
          display.took(messages);
        },
        event(event) {
          if (event.type === "step-start") ({ step } = event);
          logEvent(turnLog, step, event);
          display.event(event);
        },
        closing(receipt) {
          const { outcome, durationMs, killed, stopMs } = receipt;
          const { input, output, cacheRead, cacheWrite, cost, calls } = outcome.usage;
          turnLog.info(
            {
              step: outcome.steps,
              outcome: nameEnding(outcome),
              // In Heddle's own words; those of the service are in the line of its failed call.
              ...(outcome.kind === "model-error" && { problem: outcome.text }),
              durationMs,
              modelCalls: calls,
              tokens: input + output + cacheRead + cacheWrite,
              cost,
              ...(killed && { killed: killed.processes, survivors: killed.survivors, stopMs }),
            },
            "the turn ended",
          );
          return display.closing(receipt);
        },
      };
    },
  };
}

function logEvent(log: Logger, step: number, event: AgentEvent): void {
  switch (event.type) {
    case "step-start":
      return log.debug({ step }, "the model is asked");
    case "assistant": {
      const { model, stop } = event.message;
      return log.debug({ step, model, stop, usage: event.usage }, "the model answered");
    }
    case "retry":
      return log.warn({ step, attempt: event.attempt, delayMs: event.delayMs }, event.reason);
    case "tool-start":
      return log.debug({ step, tool: event.call.name, call: event.call.id }, "a tool starts");
    case "tool-end": {
      const { name: tool, callId: call, status } = event.message;
      return log.debug({ step, tool, call, status, durationMs: event.durationMs }, "a tool ended");
    }
    case "notice":
      return log.info({ step }, event.text);
    case "trim":
    case "summary":
      return log.info({ step, before: event.before, after: event.after }, "the context was made smaller");
    default:
      return undefined;
  }
}
