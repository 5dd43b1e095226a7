import type { Masker } from "../../secrets/masker.ts";

/** What of a call's output is shown while it runs, characters in a second: more than anybody reads of it. */
const mostInSecond = 131_072;
const left = "[…]\n";

/**
 * Masks what a call prints, for whoever looks on. Of a flood a part is left out, as masking takes longer than printing,
 * and all other turns of the process would wait for it.
 *
 * @param now milliseconds of a clock that nobody sets
 */
export function createLiveOutput(
  masker: Masker,
  emit: (chunk: string) => void,
  now: () => number = () => performance.now(),
): { write(chunk: string): void; end(): void } {
  let stream = masker.stream(emit);
  let since = now();
  let shown = 0;
  let isLeftOut = false;

  function write(chunk: string): void {
    shown += chunk.length;
    stream.write(chunk);
  }

  return {
    write(chunk) {
      if (now() - since >= 1_000) {
        since = now();
        shown = 0;
      }
      if (!isLeftOut && shown < mostInSecond) return write(chunk);
      const line = chunk.indexOf("\n");
      isLeftOut = shown >= mostInSecond || line < 0;
      if (isLeftOut) return;
      // Neither the beginning of a secret, which is held back, nor the end of one: its other part is left out.
      stream = masker.stream(emit);
      emit(left);
      write(chunk.slice(line + 1));
    },
    end() {
      if (!isLeftOut) stream.end();
    },
  };
}
