import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport.js";
import { type AnswerTooLarge, boundEvents, withBody } from "../../network/bounded-answer.ts";

/** The longest answer, or event, that is taken from a server, in bytes: a picture of 10 MB fits, in Base64. */
const defaultAnswerBytes = 16 * 1_048_576;

/**
 * The same `fetch`, which gives up when nothing arrives for `readMs` milliseconds, neither headers nor a piece of the
 * body, or when an answer is longer than `answerBytes`. A half-open connection would otherwise look like a quiet
 * server for ever, and an endless answer would fill the memory of all turns.
 */
export function fetchWithLimits(
  fetch: FetchLike,
  readMs: number,
  {
    answerBytes = defaultAnswerBytes,
    onTooLarge,
  }: { answerBytes?: number; onTooLarge?: (error: AnswerTooLarge) => void } = {},
): FetchLike {
  return async (url, init) => {
    const silence = new AbortController();
    const timer = setTimeout(() => silence.abort(new Error(`no data for ${readMs / 1000} s`)), readMs);
    timer.unref();
    const signal = init?.signal ? AbortSignal.any([init.signal, silence.signal]) : silence.signal;
    const response = await fetch(url, { ...init, signal }).catch((error: unknown) => {
      clearTimeout(timer);
      throw error;
    });
    if (!response.body) {
      clearTimeout(timer);
      return response;
    }
    const watched = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        timer.refresh();
        controller.enqueue(chunk);
      },
      flush: () => clearTimeout(timer),
      cancel: () => clearTimeout(timer),
    });
    return boundEvents(withBody(response, response.body.pipeThrough(watched)), answerBytes, onTooLarge);
  };
}
