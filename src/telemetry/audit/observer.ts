import type { AgentEvent, CallEvent } from "../../agent/events.ts";
import { heddle } from "../../agent/messages.ts";
import { noUsage } from "../../agent/model.ts";
import { nameEnding } from "../../agent/silence.ts";
import type { Observer } from "../observer.ts";
import { describeCallEnd, maskArguments } from "./call-fact.ts";
import { type AuditFact, listAsked, toInboundFact } from "./fact.ts";
import type { AuditLog } from "./log.ts";

interface AuditOptions {
  log: AuditLog;
  /** Hides secrets in the arguments of tools. */
  mask(text: string): string;
}

/**
 * Writes down what people do and what runs for them. What intake took is in the log before the
 * platform is answered, or tried again until it is, for it has happened: a platform that told of it once more would
 * find a duplicate. A tool's call is in the log before the tool runs: while the journal stores the call, so that a
 * step takes no longer. Nobody waits for ends and results.
 */
export function auditObserver({ log, mask }: AuditOptions): Observer {
  const note = (fact: AuditFact) => void log.note(fact);

  return {
    intake: (intake) => ({
      async receive(event) {
        const result = await intake.receive(event);
        const fact = toInboundFact(event, result);
        if (fact) await log.note(fact);
        return result;
      },
    }),

    runner: (runner) => ({
      ...runner,
      async *run(input) {
        const { thread, turn } = input;
        const writeBegan = (event: AgentEvent) => {
          const began = toolBegan(event);
          return began && log.append({ ...began, thread, turn });
        };
        const emit = async (event: AgentEvent) => {
          await Promise.all([writeBegan(event), input.emit(event)]);
        };
        const events = runner.run({ ...input, emit });
        try {
          for (;;) {
            const next = await events.next();
            if (next.done) return next.value;
            const written = writeBegan(next.value);
            // Whoever asks for the next event has stored this one; the tool starts behind it.
            written?.catch(() => undefined);
            yield next.value;
            await written;
          }
        } finally {
          // Where nobody asks for more, or nothing can be written; after the end it does nothing.
          await events.return({ kind: "lost-lease", steps: 0, usage: noUsage });
        }
      },
    }),

    display(display, thread, { id: turn, resumed }) {
      let began = false;
      const models = new Set<string>();
      return {
        ...display,
        took(messages) {
          const what = began ? "turn-took" : "turn-began";
          note({
            what,
            thread,
            turn,
            asked: listAsked(messages),
            ...(!began && resumed && { resumed: true }),
          });
          began = true;
          display.took(messages);
        },
        event(event) {
          const step = event.type === "helper" ? event.event : event;
          if (step.type === "assistant") models.add(step.message.model);
          const { call: ended, within } = callIn(event);
          if (ended?.type === "tool-end") {
            const { callId, name: tool } = ended.message;
            const call = within + callId;
            const how = describeCallEnd(ended.message);
            note({ what: "tool-ended", thread, turn, call, tool, ...how, ms: Math.round(ended.durationMs) });
          }
          display.event(event);
        },
        settled(question, call, decision) {
          // Without a person intake knows nothing of it.
          if (decision && !("by" in decision)) {
            const { id, tool } = question;
            note({ what: "decided", thread, question: id, tool, decision: decision.kind, by: heddle });
          }
          return display.settled(question, call, decision);
        },
        closing(receipt) {
          const { outcome, killed } = receipt;
          if (began) {
            note({
              what: "turn-ended",
              thread,
              turn,
              outcome: nameEnding(outcome),
              steps: outcome.steps,
              models: [...models],
              cost: roundCost(outcome.usage.cost),
              ...(killed && { killed: killed.processes, survivors: killed.survivors }),
            });
          }
          return display.closing(receipt);
        },
      };
    },
  };

  function toolBegan(event: AgentEvent) {
    const { call: began, within } = callIn(event);
    if (began?.type !== "tool-start") return undefined;
    const { call } = began;
    const what = "tool-began" as const;
    return { what, call: within + call.id, tool: call.name, ...maskArguments(call, mask) };
  }
}

/** Sums of fractions have digits that mean nothing. */
function roundCost(dollars: number): number {
  return Number(dollars.toFixed(6));
}

/** The start or end of a call. `within` comes before the ids of a helper's calls, which are its own. */
function callIn(event: AgentEvent): { call?: CallEvent; within: string } {
  const [inner, within] = event.type === "helper" ? [event.event, `${event.callId}/`] : [event, ""];
  return inner.type === "tool-start" || inner.type === "tool-end" ? { call: inner, within } : { within };
}
