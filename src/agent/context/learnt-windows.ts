import type { LanguageModel, Usage } from "../model.ts";
import { readRefusedWindow } from "./refused-window.ts";

/**
 * What services have shown of their models' windows and tokenizers, by the model's id, which is also the account and
 * the address behind it. Share one among all turns of a process: a model may serve as one thread's own and as
 * another's fallback.
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
}

type ModelSize = Pick<LanguageModel, "id" | "limits">;

interface Learnt {
  /** As the service named it. */
  window: number;
  /** The smallest size that was refused although it seemed to fit. */
  refused: number;
  at: number;
}

/** Room for the reply within the window: the model's limit, but at most this share. */
const replyShare = 0.25;

/** Share of a refused size that is taken for usable where the service does not name its window. */
const refusedShare = 0.9;

/** No refusal makes us believe in a smaller window, in tokens: it is then about something else than length. */
const smallestWindow = 2_000;

/** How far a service's count may differ from ours before we distrust it. */
const correctionBounds = { least: 0.5, most: 3 };

/** How long a refusal counts, ms: the service may be given a larger window while this process runs. */
const refusalMs = 60 * 60_000;

const nothing = { window: Infinity, refused: Infinity };

export function createLearntWindows(now: () => number = Date.now): LearntWindows {
  const learnt = new Map<string, Learnt>();
  const corrections = new Map<string, number>();
  const find = (id: string) => {
    const known = learnt.get(id);
    return known && now() - known.at < refusalMs ? known : nothing;
  };
  const measureUsable = ({ id, limits }: ModelSize) => {
    const { window, refused } = find(id);
    const total = Math.min(window, limits.contextTokens);
    return Math.min(
      total - Math.min(limits.maxOutputTokens, Math.floor(total * replyShare)),
      refused * refusedShare,
    );
  };

  return {
    measureUsable,
    measureRefused({ id, limits }) {
      const { window, refused } = find(id);
      return Math.min(window, refused, limits.contextTokens);
    },
    correction: ({ id }) => corrections.get(id) ?? 1,

    learnRefusal(model, size, detail) {
      const { window, refused } = find(model.id);
      const told = readRefusedWindow(detail);
      const isNamed = told !== undefined && told >= smallestWindow;
      const known: Learnt = { window: isNamed ? told : window, refused, at: now() };
      learnt.set(model.id, known);
      // Where the service names no window, or counts so differently that it would refuse the same size again.
      if (size <= measureUsable(model)) known.refused = Math.min(refused, Math.max(size, smallestWindow));
    },

    learnAccepted({ id }, counted, usage) {
      const told = usage.input + usage.cacheRead + usage.cacheWrite;
      if (counted === 0 || told === 0) return;
      const { least, most } = correctionBounds;
      const correction = Math.min(most, Math.max(least, told / counted));
      corrections.set(id, correction);
      const known = learnt.get(id);
      if (!known) return;
      known.window = Math.max(known.window, told);
      // Taken after all, perhaps from another thread that had a larger one on its way.
      if (counted * correction >= known.refused) known.refused = Infinity;
    },
  };
}
