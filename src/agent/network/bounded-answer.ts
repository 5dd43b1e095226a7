/** An answer was longer than is taken; a sentence without its text. */
export class AnswerTooLarge extends Error {
  override readonly name = "AnswerTooLarge";
}

const [lineFeed, carriageReturn] = [10, 13];

/**
 * The same answer, ended with an error once it is longer than `bytes`, counted as unpacked: whoever sends it decides
 * neither how much memory it takes nor, packed, what it swells to. On an event stream, which may go on for days, the
 * limit is for each event (https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream).
 *
 * @param onTooLarge told of it, too, for whoever does not hear of a stream's end
 * @example
 * const text = await boundAnswer(await fetch(url), 1_048_576).text(); // rejects with AnswerTooLarge beyond 1 MiB
 */
export function boundAnswer(
  answer: Response,
  bytes: number,
  onTooLarge: (error: AnswerTooLarge) => void = () => {},
): Response {
  if (!answer.body) return answer;
  const isStream = answer.headers.get("content-type")?.toLowerCase().includes("text/event-stream") ?? false;
  const count = isStream ? countEvent() : countAll();
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
  const { status, statusText, headers } = answer;
  return new Response(answer.body.pipeThrough(bounded), { status, statusText, headers });
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
