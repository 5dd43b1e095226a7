import { Readable } from "node:stream";
import { Stream } from "@anthropic-ai/sdk/streaming";
import { AnswerTooLarge } from "../network/bounded-answer.ts";
import { createNotAModelError, isWebPage } from "./errors.ts";

/** The longest answer of a model service that is read whole, and the longest event of one that is streamed. */
export const answerBytes = 16 * 1_048_576;
/** The longest streamed reply: 128,000 tokens, the most that a model writes at once, with 500 bytes around each. */
export const replyBytes = 64 * 1_048_576;

/** How long the rest of a reply is waited for, ms. */
const restMs = 1_000;
/** How long is waited for events that may follow a complete reply, as its usage does, ms. */
const afterwordMs = 2_000;

/**
 * The events of a streamed reply, of either protocol: the reader of Anthropic's SDK knows nothing of its own, and is
 * several times as fast as the one of OpenAI's.
 *
 * Whoever reads may leave at the last event. To cancel the body then would close the connection, and each model call
 * would shake hands anew: the end of the response often comes a moment after the last event. So the rest is read, and
 * the connection serves the next call.
 *
 * An event that is too long, ended or not, is an {@link AnswerTooLarge}, and closes the connection; so is a reply that
 * has no end. An answer without a body has no events, and a web page is an `AttemptFailed`.
 *
 * @param response of `fetch` or `streamFetch`
 * @param isComplete whether the events until now are a whole reply. It is paid for, so that neither a stream that stays
 * open, whatever keeps it alive, nor a connection that breaks is its failure any more: both are its end.
 */
export function readServerSentEvents(
  response: Response,
  isComplete: () => boolean = () => false,
): AsyncIterable<{ event: string | null; data: string }> {
  const { body }: { body: unknown } = response;
  const source =
    body instanceof Readable
      ? openReadable(body)
      : body instanceof ReadableStream
        ? openWeb(body)
        : undefined;
  if (!source) return noEvents();
  const bounded = boundReply(source);
  // What the SDK reads a body by. A stream around the stream would cost a good part of a step.
  Object.defineProperty(body, Symbol.asyncIterator, { value: () => patientIterator(bounded, isComplete) });
  const events = Stream.rawEvents(response);
  return {
    [Symbol.asyncIterator]: () => ({
      next() {
        bounded.beginEvent();
        return events.next();
      },
      return: () => events.return(undefined),
    }),
  };
}

async function* noEvents(): AsyncGenerator<never> {}

/**
 * The source, ended where it sends too much for one event, as the SDK keeps all that it gets before an event ends, or for
 * a reply, of which all is kept that is said.
 */
function boundReply(source: Source): Source & { beginEvent(): void } {
  let [ofEvent, ofReply] = [0, 0];
  return {
    ...source,
    beginEvent: () => void (ofEvent = 0),
    async next() {
      const read = await source.next();
      if (read.done) return read;
      if (ofReply === 0 && isWebPage(new TextDecoder().decode(read.value.subarray(0, 100)))) {
        source.cancel();
        throw createNotAModelError("text/html");
      }
      ofEvent += read.value.length;
      ofReply += read.value.length;
      if (ofEvent <= answerBytes && ofReply <= replyBytes) return read;
      source.cancel();
      const [most, what] = ofEvent > answerBytes ? [answerBytes, "event"] : [replyBytes, "reply"];
      throw new AnswerTooLarge(`it sent more than ${most / 1_024} KiB in one ${what}`);
    },
  };
}

/** Where the bytes of a reply come from. */
interface Source {
  next(): Promise<IteratorResult<Uint8Array, unknown>>;
  /** Gives up what has not been read. */
  cancel(): void;
}

function openWeb(body: ReadableStream<Uint8Array>): Source {
  const reader = body.getReader();
  return { next: () => reader.read(), cancel: () => void reader.cancel().catch(() => undefined) };
}

/** Its errors are those of `fetch`. */
export function openReadable(body: Readable): Source {
  const chunks = body.iterator({ destroyOnReturn: false });
  return {
    next: () =>
      chunks.next().catch((error: unknown) => {
        throw new TypeError("terminated", { cause: error });
      }),
    cancel: () => void body.destroy(),
  };
}

function patientIterator(source: Source, isComplete: () => boolean): AsyncIterator<Uint8Array> {
  let late: NodeJS.Timeout | undefined;
  const end = (): IteratorResult<Uint8Array, unknown> => {
    clearTimeout(late);
    return { done: true, value: undefined };
  };
  const readAfterword = async () => {
    late ??= setTimeout(() => source.cancel(), afterwordMs);
    const read = await source.next().catch(end);
    return read.done ? end() : read;
  };
  return {
    next: () => (isComplete() ? readAfterword() : source.next()),
    return() {
      clearTimeout(late);
      void readRest(source);
      return Promise.resolve({ done: true, value: undefined });
    },
  };
}

/** Reads on until there is nothing more, for a second at the most. Never throws. */
async function readRest(source: Source): Promise<void> {
  const late = setTimeout(() => source.cancel(), restMs);
  try {
    while (!(await source.next()).done);
  } catch {
    // The connection broke, or the call was aborted: nobody waits for this.
  } finally {
    clearTimeout(late);
  }
}
