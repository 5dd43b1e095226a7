/** Held back at most; only a flood without a blank or line end gets there. */
const maxHeld = 65_536;
/** As long as no more is held, it is searched with each piece: of ordinary output that is a word or part of a line. */
const smallHeld = 512;
/** More than that is searched again when it has grown so much: small pieces then cost little more than large ones. */
const growth = 1.25;
/** Or, where it does not grow, so long after a piece, in milliseconds. */
const maxWaitMs = 50;

export interface StreamMasker {
  mask(text: string): string;
  /** How much of the text no later piece can turn into a part of a secret. It reads all of the text. */
  measureSettled(text: string): number;
}

/** Masks text that comes in pieces, as `Masker.stream` promises. */
export function createMaskedStream(
  { mask, measureSettled }: StreamMasker,
  emit: (chunk: string) => void,
): { write(chunk: string): void; end(): void } {
  let held = "";
  /** How long it is when it is searched next. */
  let due = 0;
  let timer: NodeJS.Timeout | undefined;

  const release = (length: number) => {
    if (length === 0) return;
    const text = mask(held.slice(0, length));
    held = held.slice(length);
    emit(text);
  };
  const stopWaiting = () => {
    clearTimeout(timer);
    timer = undefined;
  };
  const search = () => {
    stopWaiting();
    const settled = measureSettled(held);
    // What remains counts, not how much came: a large piece ends in the beginning of a secret as a small one does.
    release(held.length - settled > maxHeld ? held.length : settled);
    due = held.length > smallHeld ? held.length * growth : 0;
  };
  return {
    write(chunk) {
      held += chunk;
      if (held.length >= due) search();
      else timer ??= setTimeout(search, maxWaitMs).unref();
    },
    end() {
      stopWaiting();
      release(held.length);
    },
  };
}
