import { amount, cell, cut, percent, round, thousands } from "./print.mts";
import { compare, isEmpty, quantile, readNumber } from "./values.mts";

/** Distinct values of a column that are counted. */
const mostDistinct = 10_000;
/** Numbers of a column that its median is taken from. */
const mostNumbers = 1_000_000;

type Type = "empty" | "date" | "integer" | "number" | "text";

const dateForm = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?$/;

/** What a profile says of one column. */
export class Column {
  readonly name: string;
  readonly #delimiter: string;
  readonly #counts = new Map<string, number>();
  readonly #values: number[] = [];
  #filled = 0;
  #padded = 0;
  #dates = 0;
  #numbers = 0;
  #integers = 0;
  #total = 0;
  #many = false;
  /** Of the dates. */
  #range: { first: string; last: string } | undefined;
  #min: { value: number; row: number } | undefined;
  #max: { value: number; row: number } | undefined;
  /** The first value that is neither a date nor a number, with its row. */
  #odd: string | undefined;

  constructor(name: string, delimiter: string) {
    this.name = name;
    this.#delimiter = delimiter;
  }

  note(text: string, row: number): void {
    const value = text.trim();
    if (value.length !== text.length) this.#padded++;
    if (isEmpty(value)) return;
    this.#filled++;
    const count = this.#counts.get(value);
    if (count !== undefined || this.#counts.size < mostDistinct) this.#counts.set(value, (count ?? 0) + 1);
    else this.#many = true;
    if (value.length >= 10 && dateForm.test(value)) {
      this.#dates++;
      this.#range ??= { first: value, last: value };
      if (value < this.#range.first) this.#range.first = value;
      if (value > this.#range.last) this.#range.last = value;
      return;
    }
    const number = readNumber(value, this.#delimiter);
    if (number === undefined) this.#odd ??= `"${cut(value, 40)}" in row ${row}`;
    else this.#noteNumber(number, row);
  }

  #noteNumber(value: number, row: number): void {
    this.#numbers++;
    if (value === Math.trunc(value)) this.#integers++;
    this.#total += value;
    if (this.#values.length < mostNumbers) this.#values.push(value);
    if (this.#min === undefined || value < this.#min.value) this.#min = { value, row };
    if (this.#max === undefined || value > this.#max.value) this.#max = { value, row };
  }

  /** A column counts as numbers or dates when nine of ten of its values are. */
  #type(): Type {
    if (this.#filled === 0) return "empty";
    if (this.#dates >= 0.9 * this.#filled) return "date";
    if (this.#numbers < 0.9 * this.#filled) return "text";
    return this.#integers === this.#numbers ? "integer" : "number";
  }

  /** The cells of its line: name, type, filled, distinct, min, max, mean, median. */
  describe(rows: number): string[] {
    const type = this.#type();
    const distinct = thousands(this.#counts.size) + (this.#many ? "+" : "");
    return [cut(this.name, 30), type, percent(this.#filled, rows), distinct, ...this.#figures(type)];
  }

  #figures(type: Type): string[] {
    if (type === "date" && this.#range) return [this.#range.first, this.#range.last, "", ""];
    if ((type === "integer" || type === "number") && this.#min && this.#max) {
      const mean = this.#total / this.#numbers;
      return [this.#min.value, this.#max.value, mean, quantile(this.#sorted(), 0.5)].map(round);
    }
    return ["", "", "", ""];
  }

  #sorted(): Float64Array {
    return Float64Array.from(this.#values).toSorted();
  }

  /** Nothing for a column whose values hardly repeat. */
  mostFrequent(rows: number, top: number): string | undefined {
    const values = [...this.#counts].toSorted(([a, x], [b, y]) => y - x || compare(a, b));
    const [first] = values;
    if (first === undefined || this.#many || first[1] === 1 || this.#type() === "number") return undefined;
    if (values.length > 20 && values.length > 0.5 * this.#filled) return undefined;
    const more = values.length > top ? `, ... ${values.length - top} more` : "";
    const shown = values
      .slice(0, Math.max(0, top))
      .map(([value, count]) => `${cut(cell(value), 40)} (${thousands(count)}, ${percent(count, rows)})`);
    return `${this.name}: ${shown.join(", ")}${more}`;
  }

  findings(rows: number): string[] {
    const name = this.name === "" ? "a column without a name" : this.name;
    const type = this.#type();
    if (type === "empty") return [`${name}: empty in every row`];
    const distinct = this.#counts.size;
    const found: string[] = [];
    if (this.#filled < rows) found.push(amount(rows - this.#filled, "empty value"));
    if (rows > 1 && distinct === 1) found.push("the same value in every row");
    if (rows > 1 && !this.#many && distinct === rows && type !== "number")
      found.push("filled and different in every row, so it could be a key");
    if (this.#padded > 0) found.push(`${amount(this.#padded, "value")} with blanks at an end`);
    return [...found, ...this.#mixed(type), ...this.#outliers(type)].map((text) => `${name}: ${text}`);
  }

  #mixed(type: Type): string[] {
    if (type === "text") {
      const mixes = this.#numbers > 0 && this.#numbers >= 0.5 * this.#filled;
      return mixes ? [`mixes numbers and text, for example ${this.#odd}`] : [];
    }
    const odd = this.#filled - (type === "date" ? this.#dates : this.#numbers);
    return odd > 0 && this.#odd !== undefined
      ? [`${amount(odd, "value")} outside the type ${type}, for example ${this.#odd}`]
      : [];
  }

  #outliers(type: Type): string[] {
    if ((type !== "integer" && type !== "number") || !this.#min || !this.#max) return [];
    const sorted = this.#sorted();
    const low = quantile(sorted, 0.25);
    const middle = round(quantile(sorted, 0.5));
    const high = quantile(sorted, 0.75);
    const reach = 5 * (high - low);
    if (!(reach > 0)) return [];
    const found: string[] = [];
    const tell = (which: string, { value, row }: { value: number; row: number }) =>
      found.push(`the ${which} value ${round(value)} (row ${row}) is far from the median ${middle}`);
    if (this.#max.value > high + reach) tell("largest", this.#max);
    if (this.#min.value < low - reach) tell("smallest", this.#min);
    return found;
  }
}
