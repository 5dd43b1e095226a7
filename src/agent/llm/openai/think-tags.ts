const open = "<think>";
const close = "</think>";

/** What a piece of content turned out to be. */
interface SplitContent {
  thinking: string;
  text: string;
}

/**
 * Splits streamed content that begins with `<think>...</think>`, as servers send it that do not separate a
 * model's thinking. Only the beginning counts: later on, the tag is something that the model writes about.
 */
export class ThinkSplitter {
  /** Everything up to the text, tags and white space included, exactly as it came. */
  prefix = "";
  #state: "undecided" | "thinking" | "closed" | "text" = "undecided";
  /** Received, and neither in `prefix` nor given out as text. */
  #pending = "";

  /** Takes the next piece; what cannot be told apart yet is held back. */
  push(content: string): SplitContent {
    this.#pending += content;
    const out: SplitContent = { thinking: "", text: "" };
    if (this.#state === "undecided") this.#decide();
    if (this.#state === "thinking") out.thinking = this.#think();
    if (this.#state === "closed") this.#skipSpace();
    if (this.#state === "text") out.text = this.#take(this.#pending.length);
    return out;
  }

  /** Gives out what is held back, when no more comes. */
  end(): SplitContent {
    if (this.#state !== "thinking") return { thinking: "", text: this.#take(this.#pending.length) };
    return { thinking: this.#keep(this.#pending.length), text: "" };
  }

  #decide(): void {
    const start = this.#pending.length - this.#pending.trimStart().length;
    const head = this.#pending.slice(start, start + open.length);
    if (head === open) {
      this.#keep(start + open.length);
      this.#state = "thinking";
    } else if (!open.startsWith(head)) {
      this.#state = "text";
    }
  }

  #think(): string {
    const end = this.#pending.indexOf(close);
    if (end >= 0) {
      const thinking = this.#keep(end);
      this.#keep(close.length);
      this.#state = "closed";
      return thinking;
    }
    // The end of the piece may be the beginning of the closing tag.
    let held = Math.min(close.length - 1, this.#pending.length);
    while (!close.startsWith(this.#pending.slice(this.#pending.length - held))) held -= 1;
    return this.#keep(this.#pending.length - held);
  }

  #skipSpace(): void {
    this.#keep(this.#pending.length - this.#pending.trimStart().length);
    if (this.#pending !== "") this.#state = "text";
  }

  #keep(length: number): string {
    const taken = this.#take(length);
    this.prefix += taken;
    return taken;
  }

  #take(length: number): string {
    const taken = this.#pending.slice(0, length);
    this.#pending = this.#pending.slice(length);
    return taken;
  }
}
