import type { LanguageModel } from "../agent/model.ts";
import type { Intake } from "../chat/inbound.ts";
import type { ChatSurface } from "../chat/surface.ts";
import type { ThreadId } from "../chat/threads.ts";
import type { RateLimiter } from "../queue/outbox/rate-limit.ts";
import type { ShownTurn, TurnDisplay, TurnRunner } from "../queue/turns/contracts.ts";
import type { SandboxBackend } from "../sandbox/sandbox.ts";

/**
 * Something that looks on: it wraps those contracts that it wants to see, and gives back something that does the
 * same. This is the only place where log, metrics, traces and audit meet the rest of the program; who is wrapped
 * knows nothing of it.
 *
 * A wrapper never throws for a reason of its own, with one exception: what must be in the audit log before it is
 * done is not done when it cannot be written there.
 */
export interface Observer {
  intake?(intake: Intake): Intake;
  runner?(runner: TurnRunner): TurnRunner;
  display?(display: TurnDisplay, thread: ThreadId, turn: ShownTurn): TurnDisplay;
  model?(model: LanguageModel): LanguageModel;
  output?(output: RateLimiter): RateLimiter;
  surface?(surface: ChatSurface): ChatSurface;
  sandbox?(backend: SandboxBackend): SandboxBackend;
}

/** All of them, each around the one before. */
export function observeAll(observers: readonly Observer[]): Required<Observer> {
  // The same model is asked for with every turn, and what is learned about it belongs to its wrapper.
  const models = new WeakMap<LanguageModel, LanguageModel>();
  return {
    intake: (intake) => observers.reduce((inner, by) => by.intake?.(inner) ?? inner, intake),
    runner: (runner) => observers.reduce((inner, by) => by.runner?.(inner) ?? inner, runner),
    display: (display, thread, turn) =>
      observers.reduce((inner, by) => by.display?.(inner, thread, turn) ?? inner, display),
    model(model) {
      const wrapped = models.get(model) ?? observers.reduce((inner, by) => by.model?.(inner) ?? inner, model);
      models.set(model, wrapped);
      return wrapped;
    },
    output: (output) => observers.reduce((inner, by) => by.output?.(inner) ?? inner, output),
    surface: (surface) => observers.reduce((inner, by) => by.surface?.(inner) ?? inner, surface),
    sandbox: (backend) => observers.reduce((inner, by) => by.sandbox?.(inner) ?? inner, backend),
  };
}
