import { Stream } from "@anthropic-ai/sdk/streaming";

/** How long the rest of a reply is waited for, ms. */
const restMs = 1_000;

/**
 * The events of a streamed reply, of either protocol: the reader of Anthropic's SDK knows nothing of its own, and is
 * several times as fast as the one of OpenAI's.
 *
 * Whoever reads may leave at the last event. To cancel the body then would close the connection, and each model call
 * would shake hands anew: the end of the response often comes a moment after the last event. So the rest is read, and
 * the connection serves the next call.
 */
export function readServerSentEvents(
  response: Response,
): AsyncIterable<{ event: string | null; data: string }> {
  const { body } = response;
  // What the SDK reads a body by. A stream around the stream would cost a good part of a step.
  if (body) Object.defineProperty(body, Symbol.asyncIterator, { value: () => patientIterator(body) });
  return Stream.rawEvents(response);
}

function patientIterator(body: ReadableStream<Uint8Array>): AsyncIterator<Uint8Array> {
  const reader = body.getReader();
  return {
    next: () => reader.read(),
    return() {
      void readRest(reader);
      return Promise.resolve({ done: true, value: undefined });
    },
  };
}

/** Reads on until there is nothing more, for a second at the most. Never throws. */
async function readRest(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  const late = setTimeout(() => void reader.cancel().catch(() => undefined), restMs);
  try {
    while (!(await reader.read()).done);
  } catch {
    // The connection broke, or the call was aborted: nobody waits for this.
  } finally {
    clearTimeout(late);
  }
}
