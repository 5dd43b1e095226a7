import { type LanguageModel, ModelError, type ModelErrorKind, type ModelEvent } from "../model.ts";

/** Failures after which another model is worth a try: this one is down, out of credit or gone. */
const worthAnother: ReadonlySet<ModelErrorKind> = new Set(["transient", "quota", "not-found", "elsewhere"]);

/** How long a failed model is skipped, in milliseconds, where its service asks for no more. */
const defaultRestMs = 60_000;

/** The longest that a service's own wish is heeded: a wrong one must not shut a model out for days. */
const longestRestMs = 3_600_000;

/**
 * The first model, with the others as fallbacks, in order, for when it fails permanently: after its own retries, or
 * without credit. A failed model is skipped for a while, so that not every step waits for its retries again.
 *
 * Its limits are those of the first; those of the model that the next call goes to are told by `serving`. A fallback
 * that takes over within a call may have a smaller window: its refusal then names it.
 */
export function createFallbackModel(options: {
  models: readonly [LanguageModel, ...LanguageModel[]];
  /** Called for every failed call, with the service's own words for the log. */
  onFailure(model: string, error: ModelError): void;
  /** Milliseconds by a clock that nobody sets: one that is set back would shut a model out for as long. */
  now(): number;
  restMs?: number;
}): LanguageModel {
  const { models, onFailure, now, restMs = defaultRestMs } = options;
  const restsUntil = new Map<LanguageModel, number>();

  const findAwake = () => models.filter((model) => (restsUntil.get(model) ?? 0) <= now());

  return {
    id: models[0].id,
    limits: models[0].limits,
    serving() {
      const [first = models[0]] = findAwake();
      return first.serving?.() ?? first;
    },
    async *stream(request, signal): AsyncGenerator<ModelEvent, void, undefined> {
      const awake = findAwake();
      const candidates = awake.length > 0 ? awake : models;
      for (const [index, model] of candidates.entries()) {
        try {
          yield* model.stream(request, signal);
          return;
        } catch (error) {
          if (!(error instanceof ModelError)) throw error;
          onFailure(model.id, error);
          const next = candidates[index + 1];
          if (error.kind === "overflow") throw nameModel(error, model.id);
          if (!worthAnother.has(error.kind)) throw error;
          restsUntil.set(model, now() + Math.max(restMs, Math.min(error.retryAfterMs ?? 0, longestRestMs)));
          if (!next) throw error;
          yield { type: "fallback", model: next.id, reason: error.reason };
        }
      }
    },
  };
}

function nameModel(error: ModelError, model: string): ModelError {
  const { kind, message, attempts, detail, reason, retryAfterMs } = error;
  return new ModelError(kind, message, {
    attempts,
    detail,
    reason,
    retryAfterMs,
    model: error.model ?? model,
    cause: error,
  });
}
