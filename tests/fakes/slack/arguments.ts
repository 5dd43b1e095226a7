import { invalid } from "./refusal.ts";

/** The arguments of a call. In a form every value is text, and lists and objects are JSON within it. */
export class Arguments {
  readonly #values: Readonly<Record<string, unknown>>;

  constructor(values: Readonly<Record<string, unknown>>) {
    this.#values = values;
  }

  /** Refuses what the method does not know: a misspelt argument would be ignored in silence. */
  expectOnly(known: readonly string[]): void {
    const unknown = Object.keys(this.#values).filter((name) => name !== "token" && !known.includes(name));
    if (unknown.length > 0) {
      throw invalid("invalid_arguments", ...unknown.map((name) => `[ERROR] unknown argument: ${name}`));
    }
  }

  has(name: string): boolean {
    return this.#values[name] !== undefined;
  }

  /** Refuses a call that lacks the argument, as Slack does. */
  text(name: string): string {
    const value = this.optionalText(name);
    if (value === undefined) {
      throw invalid("invalid_arguments", `[ERROR] missing required field: ${name}`);
    }
    return value;
  }

  optionalText(name: string): string | undefined {
    const value = this.#values[name];
    if (value === undefined || value === "") return undefined;
    return typeof value === "string" ? value : JSON.stringify(value);
  }

  flag(name: string, fallback: boolean): boolean {
    const value = this.optionalText(name);
    return value === undefined ? fallback : value === "true" || value === "1";
  }

  /** Undefined when it is absent. */
  json(name: string): unknown {
    const value = this.#values[name];
    if (typeof value !== "string") return value;
    try {
      return JSON.parse(value);
    } catch {
      throw invalid("invalid_arguments", `[ERROR] ${name} is not JSON`);
    }
  }

  /** For logs of tests: everything but the token. */
  shown(): Record<string, unknown> {
    const { token: _token, ...shown } = this.#values;
    return shown;
  }
}
