/** An answer was longer than is taken; a sentence without its text. */
export class AnswerTooLarge extends Error {
  override readonly name = "AnswerTooLarge";
}

const [lineFeed, carriageReturn] = [10, 13];

/**
 * The same answer, ended with an error once it is longer than `bytes`, counted as unpacked: whoever sends it decides
 * neither how much memory it takes nor, packed, what it swells to.
 *
 * @example
 * const text = await boundAnswer(await fetch(url), 1_048_576).text(); // rejects with AnswerTooLarge beyond 1 MiB
 */
export function boundAnswer(answer: Response, bytes: number): Response {
  return bound(answer, bytes, { count: countAll(), onTooLarge: () => {} });
}

/**
 * The same, for whoever reads a stream of events: it may go on for days, so the limit is for each event
 * (https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream). What only calls itself one
 * and is read whole, as what a server says of an error, is counted whole.
 *
 * @param onTooLarge told of it, too, for whoever does not hear of a stream's end
 */
export function boundEvents(
  answer: Response,
  bytes: number,
  onTooLarge: (error: AnswerTooLarge) => void = () => {},
): Response {
  const mediaType = answer.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
  const isStream = answer.status === 200 && mediaType === "text/event-stream";
  return bound(answer, bytes, { count: isStream ? countEvent() : countAll(), onTooLarge });
}

interface Bound {
  count(chunk: Uint8Array): number;
  onTooLarge(error: AnswerTooLarge): void;
}

function bound(answer: Response, bytes: number, { count, onTooLarge }: Bound): Response {
  if (!answer.body) return answer;
  const bounded = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      if (count(chunk) > bytes) {
        const error = new AnswerTooLarge(`it sent more than ${Math.floor(bytes / 1024)} KiB in one answer`);
        onTooLarge(error);
        throw error;
      }
      controller.enqueue(chunk);
    },
  });
  return withBody(answer, answer.body.pipeThrough(bounded));
}

/**
 * The same answer with another body. Node takes no status of a server above 599, which counts as 5xx (RFC 9110, 15), and
 * no reason phrase in the server's own language, as Tomcat and others write it.
 */
export function withBody(
  { status, statusText, headers }: Response,
  body: ReadableStream<Uint8Array>,
): Response {
  const reason = statusText.replaceAll(/[^\t\x20-\x7e]/g, "?");
  return new Response(body, { status: Math.min(status, 599), statusText: reason, headers });
}

function countAll(): (chunk: Uint8Array) => number {
  let total = 0;
  return (chunk) => (total += chunk.length);
}

/** The largest size that the event at hand, or one that ends within the chunk, has reached. */
function countEvent(): (chunk: Uint8Array) => number {
  let size = 0;
  let isLineEmpty = true;
  let previous = 0;
  return (chunk) => {
    let largest = 0;
    for (const byte of chunk) {
      size += 1;
      if (size > largest) largest = size;
      const isSecondHalf = byte === lineFeed && previous === carriageReturn;
      if ((byte === lineFeed && !isSecondHalf) || byte === carriageReturn) {
        // An empty line ends the event.
        if (isLineEmpty) size = 0;
        isLineEmpty = true;
      } else if (!isSecondHalf) isLineEmpty = false;
      previous = byte;
    }
    return largest;
  };
}
