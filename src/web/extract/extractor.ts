import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { Extracted, ExtractOrder } from "./extracted.ts";

export interface ExtractorLimits {
  /** Of one page, ms. */
  timeMs: number;
  /** Of one page, in MB of JavaScript's heap. */
  memoryMb: number;
  /** Pages at once; others wait. */
  atOnce: number;
}

const defaultExtractorLimits: ExtractorLimits = { timeMs: 30_000, memoryMb: 256, atOnce: 2 };

/** `message` is one sentence for the model. */
export type Extraction = { ok: true; page: Extracted } | { ok: false; message: string };

/**
 * Reads pages in threads of their own, one for each page: whatever a page does to its parser, the event loop of the
 * worker process goes on, and what the page has taken is given back.
 */
export function createExtractor(limits: ExtractorLimits = defaultExtractorLimits) {
  let running = 0;
  const waiting: (() => void)[] = [];

  async function enter(signal: AbortSignal): Promise<boolean> {
    if (running >= limits.atOnce) {
      const turn = Promise.withResolvers<void>();
      waiting.push(turn.resolve);
      await Promise.race([turn.promise, once(signal, "abort")]);
      if (signal.aborted) {
        const index = waiting.indexOf(turn.resolve);
        if (index >= 0) waiting.splice(index, 1);
        else leave();
        return false;
      }
    }
    running += 1;
    return true;
  }

  /** Lets the next one in. */
  function leave(): void {
    waiting.shift()?.();
  }

  return {
    async extract(order: ExtractOrder, signal: AbortSignal): Promise<Extraction> {
      if (signal.aborted || !(await enter(signal))) return { ok: false, message: "It was ended." };
      try {
        return await runWorker(order, limits, signal);
      } finally {
        running -= 1;
        leave();
      }
    },
  };
}

export type Extractor = ReturnType<typeof createExtractor>;

async function runWorker(
  order: ExtractOrder,
  { timeMs, memoryMb }: ExtractorLimits,
  signal: AbortSignal,
): Promise<Extraction> {
  const worker = new Worker(new URL("./worker.ts", import.meta.url), {
    workerData: order,
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: memoryMb, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 },
    stdout: true,
    stderr: true,
  });
  const deadline = AbortSignal.timeout(timeMs);
  const result = Promise.withResolvers<Extraction>();
  const end = () =>
    result.resolve({
      ok: false,
      message: signal.aborted
        ? "It was ended."
        : `The page could not be read within ${timeMs / 1_000} s; it is too large or too tangled.`,
    });
  const either = AbortSignal.any([signal, deadline]);
  either.addEventListener("abort", end, { once: true });
  // extract/worker.ts sends nothing else.
  worker.once("message", (page: Extracted) => result.resolve({ ok: true, page }));
  worker.once("error", (error) => result.resolve({ ok: false, message: explain(error, memoryMb) }));
  worker.once("exit", () => result.resolve({ ok: false, message: explain(undefined, memoryMb) }));
  try {
    return await result.promise;
  } finally {
    either.removeEventListener("abort", end);
    await worker.terminate();
  }
}

function explain(error: unknown, memoryMb: number): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "ERR_WORKER_OUT_OF_MEMORY") {
    return `The page could not be read within ${memoryMb} MB of memory; it is too large or too tangled.`;
  }
  if (error instanceof RangeError) return "The page is too tangled to be read.";
  return "The page could not be read as what it says that it is.";
}
