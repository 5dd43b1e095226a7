import { formatDuration } from "../../progress/describe.ts";

/** Of a command's output so many characters are looked at, and so many lines shown. */
const keptChars = 8_000;
const shownLines = 6;

/** What runs at the moment, with the end of its output. */
export class RunningCalls {
  readonly #calls = new Map<string, { since: number; output: string }>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  get size(): number {
    return this.#calls.size;
  }

  start(id: string): void {
    this.#calls.set(id, { since: this.#now(), output: "" });
  }

  /** @param chunk without control characters other than line feeds and tabs */
  add(id: string, chunk: string): void {
    const call = this.#calls.get(id);
    if (call) call.output = (call.output + chunk).slice(-keptChars);
  }

  end(id: string): void {
    this.#calls.delete(id);
  }

  clear(): void {
    this.#calls.clear();
  }

  /** The last lines of the call that began last, and for how long the first has been running. */
  lines(): string[] {
    const calls = [...this.#calls.values()];
    const [first] = calls;
    if (!first) return [];
    const output = calls.at(-1)?.output.replaceAll("\t", "    ").trimEnd() ?? "";
    const last = output === "" ? [] : output.split("\n").slice(-shownLines);
    const more = calls.length > 1 ? ` · ${calls.length} at once` : "";
    const seconds = Math.floor((this.#now() - first.since) / 1_000) * 1_000;
    return [...last.map((line) => `  │ ${line}`), `  … ${formatDuration(seconds)}${more}`];
  }
}
