import { z } from "zod";

/** One part of `reasoning_details`: `type`, `index`, `id`, a `text` or `summary`, and the service's own keys. */
const detail = z.record(z.string(), z.unknown());
type Detail = z.infer<typeof detail>;

/**
 * The fields in which compatible servers put a model's reasoning (DeepSeek and llama.cpp, vLLM, OpenRouter and
 * MiniMax). Several expect all of it back, unchanged, on the assistant message.
 */
export const reasoningFields = z.object({
  reasoning_content: z.string().nullish(),
  reasoning: z.string().nullish(),
  reasoning_details: z.array(detail).nullish(),
});
export type ReasoningFields = z.infer<typeof reasoningFields>;

/** Puts streamed reasoning together again. */
export class Reasoning {
  readonly #snapshots: boolean;
  readonly #strings = new Map<"reasoning_content" | "reasoning", Fragments>();
  readonly #details: DetailEntry[] = [];

  /** `snapshots`: the service may send all that it has so far, instead of what is new (MiniMax does both). */
  constructor(snapshots: boolean) {
    this.#snapshots = snapshots;
  }

  /** Takes what one chunk brings and returns what is new to show; services send the same in several fields. */
  push(delta: ReasoningFields): string {
    const shown = [
      this.#pushString("reasoning_content", delta.reasoning_content),
      this.#pushString("reasoning", delta.reasoning),
      (delta.reasoning_details ?? []).map((part) => this.#pushDetail(part)).join(""),
    ];
    return shown.find((text) => text !== "") ?? "";
  }

  /** The fields as the service would have sent them in one piece; undefined when there were none. */
  fields(): ReasoningFields | undefined {
    if (this.#strings.size === 0 && this.#details.length === 0) return undefined;
    const strings = [...this.#strings].map(([name, text]) => [name, text.value] as const);
    const details = this.#details.map((entry) => entry.value());
    return { ...Object.fromEntries(strings), ...(details.length > 0 && { reasoning_details: details }) };
  }

  #pushString(name: "reasoning_content" | "reasoning", text: string | null | undefined): string {
    if (typeof text !== "string") return "";
    const fragments = this.#strings.get(name) ?? new Fragments(this.#snapshots);
    // Also an empty text is remembered: DeepSeek wants the field back even then.
    this.#strings.set(name, fragments);
    return fragments.push(text);
  }

  #pushDetail(part: Detail): string {
    const candidates = typeof part.index === "number" ? this.#details : this.#details.slice(-1);
    let entry = candidates.findLast((candidate) => candidate.continuedBy(part));
    if (!entry) {
      entry = new DetailEntry(this.#snapshots);
      this.#details.push(entry);
    }
    return entry.push(part);
  }
}

/** One part of `reasoning_details` that arrives in pieces. */
class DetailEntry {
  readonly #snapshots: boolean;
  readonly #fields: Detail = {};
  readonly #texts = new Map<string, Fragments>();

  constructor(snapshots: boolean) {
    this.#snapshots = snapshots;
  }

  continuedBy({ index, type, id }: Detail): boolean {
    const own = this.#fields;
    return own.index === index && own.type === type && (!own.id || !id || own.id === id);
  }

  /** Its text grows; of everything else (id, format, signature) the latest value counts. */
  push(part: Detail): string {
    let shown = "";
    for (const [name, value] of Object.entries(part)) {
      if ((name === "text" || name === "summary") && typeof value === "string") {
        const text = this.#texts.get(name) ?? new Fragments(this.#snapshots);
        this.#texts.set(name, text);
        shown += text.push(value);
        this.#fields[name] = text.value;
      } else if (value !== null || !(name in this.#fields)) {
        this.#fields[name] = value;
      }
    }
    return shown;
  }

  value(): Detail {
    return this.#fields;
  }
}

/** A text in pieces; each piece is what is new or, where `snapshots` is set, possibly all there is so far. */
class Fragments {
  #joined = "";
  #latest = "";
  #growing: boolean;

  constructor(snapshots: boolean) {
    this.#growing = snapshots;
  }

  /** Returns what is new. */
  push(piece: string): string {
    if (piece === "") return "";
    const known = this.#latest;
    // Snapshots are known by this: each one, without exception, begins with all of the one before it.
    this.#growing &&= piece.length > known.length && piece.startsWith(known);
    this.#joined += piece;
    this.#latest = piece;
    return this.#growing ? piece.slice(known.length) : piece;
  }

  get value(): string {
    return this.#growing ? this.#latest : this.#joined;
  }
}
