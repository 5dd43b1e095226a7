import { type LearntWindow, refusalMs } from "../contracts/learnt-window.ts";
import type { LanguageModel, Usage } from "../model.ts";
import { readRefusedWindow } from "./refused-window.ts";

/**
 * What services have shown of their models' windows and tokenizers, by the model's id, which is also the account and
 * the address behind it. Share one among all turns of a process: a model may serve as one thread's own and as
 * another's fallback. What `onChange` is told may be kept, and be given to other processes by `replace`.
 */
export interface LearntWindows {
  /** The largest prompt to send, the room for the reply left out, in the service's tokens. */
  measureUsable(model: ModelSize): number;
  /** A prompt of this size or more is refused: it is not worth a request. */
  measureRefused(model: ModelSize): number;
  /** The service's tokens for one of ours. */
  correction(model: Pick<ModelSize, "id">): number;
  /** @param size ours, corrected; `detail`: the service's own words, which may name its window */
  learnRefusal(model: ModelSize, size: number, detail: string): void;
  /** @param counted our tokens, not corrected, of a prompt that was taken */
  learnAccepted(model: Pick<ModelSize, "id">, counted: number, usage: Usage): void;
  /** Takes what is known elsewhere, by the model's id, in place of what is known here. */
  replace(known: ReadonlyMap<string, LearntWindow>): void;
}

export interface LearntWindowsOptions {
  now?(): number;
  /** Called with what is known of a model from here on; undefined where larger requests have refuted it. */
  onChange?(id: string, known: LearntWindow | undefined): void;
}

type ModelSize = Pick<LanguageModel, "id" | "limits">;

/** Room for the reply within the window: the model's limit, but at most this share. */
const replyShare = 0.25;

/** Share of a refused size that is taken for usable where the service does not name its window. */
const refusedShare = 0.9;

/** No refusal makes us believe in a smaller window, in tokens: it is then about something else than length. */
const smallestWindow = 2_000;

/** How far a service's count may differ from ours before we distrust it. */
const correctionBounds = { least: 0.5, most: 3 };

const nothing = { window: Infinity, refused: Infinity };

const isKnown = (size: number | undefined): size is number => size !== undefined && size < Infinity;

export function createLearntWindows(options: LearntWindowsOptions = {}): LearntWindows {
  const { now = Date.now, onChange } = options;
  let learnt = new Map<string, LearntWindow>();
  const corrections = new Map<string, number>();
  const find = ({ id, limits }: ModelSize) => {
    const known = learnt.get(id);
    if (!known || known.believed !== limits.contextTokens || now() - known.at >= refusalMs) return nothing;
    const { window = Infinity, refused = Infinity } = known;
    return { window, refused };
  };
  const measureUsable = (model: ModelSize) => {
    const { contextTokens, maxOutputTokens } = model.limits;
    const { window, refused } = find(model);
    const total = Math.min(window, contextTokens);
    return Math.min(
      total - Math.min(maxOutputTokens, Math.floor(total * replyShare)),
      refused * refusedShare,
    );
  };
  const learn = (id: string, { window, refused, ...rest }: LearntWindow) => {
    const known = {
      ...(isKnown(window) && { window }),
      ...(isKnown(refused) && { refused }),
      ...rest,
    };
    const isAny = "window" in known || "refused" in known;
    if (isAny) learnt.set(id, known);
    else learnt.delete(id);
    onChange?.(id, isAny ? known : undefined);
  };

  return {
    measureUsable,
    measureRefused(model) {
      const { window, refused } = find(model);
      return Math.min(window, refused, model.limits.contextTokens);
    },
    correction: ({ id }) => corrections.get(id) ?? 1,

    learnRefusal(model, size, detail) {
      const { window, refused } = find(model);
      const told = readRefusedWindow(detail);
      const isNamed = told !== undefined && told >= smallestWindow;
      const known = {
        window: isNamed ? told : window,
        refused,
        believed: model.limits.contextTokens,
        at: now(),
      };
      learnt.set(model.id, known);
      // Where the service names no window, or counts so differently that it would refuse the same size again.
      if (size <= measureUsable(model)) known.refused = Math.min(refused, Math.max(size, smallestWindow));
      learn(model.id, known);
    },

    learnAccepted({ id }, counted, usage) {
      const told = usage.input + usage.cacheRead + usage.cacheWrite;
      if (counted === 0 || told === 0) return;
      const { least, most } = correctionBounds;
      const correction = Math.min(most, Math.max(least, told / counted));
      corrections.set(id, correction);
      const known = learnt.get(id);
      if (!known) return;
      const { window = Infinity, refused = Infinity } = known;
      // Taken after all, perhaps from another thread that had a larger one on its way.
      const isRefuted = counted * correction >= refused;
      if (told > window || isRefuted)
        learn(id, { ...known, window: Math.max(window, told), refused: isRefuted ? Infinity : refused });
    },

    replace(known) {
      learnt = new Map(known);
    },
  };
}
