import { type LanguageModel, ModelError, type ModelErrorKind, type ModelEvent } from "../model.ts";

/** What another model may do better: this one is down, out of credit or gone. */
const worthAnother: ReadonlySet<ModelErrorKind> = new Set(["transient", "quota", "not-found"]);

/** How long a model that failed is passed over, in milliseconds. */
const defaultRestMs = 60_000;

/**
 * The first model, and the others in order for when it fails for good: after its own retries, or without credit.
 * A model that failed rests for a while, so that not every step waits for its retries again.
 *
 * Its limits are those of the first; a smaller window further down is told by that service as an overflow.
 */
export function createFallbackModel(options: {
  models: readonly [LanguageModel, ...LanguageModel[]];
  /** Told about every failed call, with the service's own words for the log. */
  onFailure(model: string, error: ModelError): void;
  now(): number;
  restMs?: number;
}): LanguageModel {
  const { models, onFailure, now, restMs = defaultRestMs } = options;
  const restsUntil = new Map<LanguageModel, number>();

  return {
    id: models[0].id,
    limits: models[0].limits,
    async *stream(request, signal): AsyncGenerator<ModelEvent, void, undefined> {
      const awake = models.filter((model) => (restsUntil.get(model) ?? 0) <= now());
      const candidates = awake.length > 0 ? awake : models;
      for (const [index, model] of candidates.entries()) {
        try {
          yield* model.stream(request, signal);
          return;
        } catch (error) {
          if (!(error instanceof ModelError)) throw error;
          onFailure(model.id, error);
          const next = candidates[index + 1];
          if (!worthAnother.has(error.kind)) throw error;
          restsUntil.set(model, now() + restMs);
          if (!next) throw error;
          yield { type: "fallback", model: next.id, reason: error.message };
        }
      }
    },
  };
}
