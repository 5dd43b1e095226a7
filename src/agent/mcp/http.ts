import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport.js";

/**
 * `fetch` that gives up when nothing arrives for `readMs` milliseconds, neither headers nor a piece of the
 * body. A half-open connection would otherwise look like a quiet server for ever.
 */
export function fetchWithReadTimeout(readMs: number): FetchLike {
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
    const { status, statusText, headers } = response;
    return new Response(response.body.pipeThrough(watched), { status, statusText, headers });
  };
}
