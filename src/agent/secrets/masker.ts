/** Takes secrets out of text. */
export interface Masker {
  /** The text with every secret replaced. Masking twice changes nothing more. */
  mask(text: string): string;
  /**
   * Masks text that comes in chunks: what may be the beginning of a secret is held back until it is clear, or up to
   * 50 ms longer where it is much.
   * `end` hands on the rest.
   */
  stream(emit: (chunk: string) => void): { write(chunk: string): void; end(): void };
}
