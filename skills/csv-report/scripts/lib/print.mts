/** Columns of figures to the right, others to the left. */
export function table(titles: readonly string[], lines: readonly (readonly string[])[]): string {
  const columns = titles.map((title, index) => {
    const values = lines.map((line) => line[index] ?? "");
    const width = values.reduce(
      (widest, value) => Math.max(widest, lengthOf(cell(value))),
      lengthOf(cell(title)),
    );
    return { width, right: values.every((value) => /^(?:[-+]?[\d,.]+(?:e[+-]?\d+)?[%+]?)?$/i.test(value)) };
  });
  const shown = [titles, ...lines].map((line) => {
    const cells = columns.map(({ width, right }, index) => {
      const text = cell(line[index] ?? "");
      const pad = " ".repeat(width - lengthOf(text));
      return right ? pad + text : text + pad;
    });
    return `${cells.join("  ").trimEnd()}\n`;
  });
  return shown.join("");
}

export function cell(value: string): string {
  return cut(value.replaceAll(/\s+/g, " "), 60);
}

/** The first characters of a text; a pair of surrogates is one. */
export function cut(text: string, length: number): string {
  return text.length > length ? [...text].slice(0, length).join("") : text;
}

function lengthOf(text: string): number {
  return /[\uD800-\uDFFF]/.test(text) ? [...text].length : text.length;
}

export function listing(items: readonly string[]): string {
  const more = items.length > 10 ? ` and ${items.length - 10} more` : "";
  return items.slice(0, 10).join(", ") + more;
}

export function thousands(number: number | string): string {
  return String(number).replaceAll(/\B(?=(?:\d{3})+$)/g, ",");
}

export function amount(count: number, noun: string): string {
  return `${thousands(count)} ${noun}${count === 1 ? "" : "s"}`;
}

export function percent(part: number, whole: number): string {
  return `${whole === 0 ? "0" : fixed((100 * part) / whole, 1).replace(/\.0$/, "")}%`;
}

export function round(number: number): string {
  if (!Number.isFinite(number)) return String(number).replace("Infinity", "Inf");
  const size = Math.abs(number);
  if (number !== 0 && (size >= 1e15 || size < 0.01)) return significant(number);
  const [, sign = "", whole = "", rest = ""] = /^(-?)(\d+)\.(\d+)$/.exec(fixed(number, 2)) ?? [];
  return sign + thousands(whole) + (rest === "00" ? "" : `.${rest}`);
}

/** More decimals than any tie has, so that what is left of them is exact. */
const spare = 30;

/** With so many decimals. Ties go to the even digit, so that figures do not lean upwards; `toFixed` takes the larger. */
export function fixed(number: number, decimals: number): string {
  const digits = BigInt(
    Math.abs(number)
      .toFixed(decimals + spare)
      .replace(".", ""),
  );
  const text = String(divide(digits, 10n ** BigInt(spare))).padStart(decimals + 1, "0");
  const sign = number < 0 ? "-" : "";
  return `${sign}${text.slice(0, -decimals)}.${text.slice(-decimals)}`;
}

/** Four significant digits, as printf's %.4g. */
function significant(number: number): string {
  const [mantissa = "", power = "0"] = Math.abs(number)
    .toExponential(3 + spare)
    .split("e");
  const digits = divide(BigInt(mantissa.replace(".", "")), 10n ** BigInt(spare));
  const exponent = Number(power) + (digits === 10_000n ? 1 : 0);
  if (exponent >= -4 && exponent < 4) return fixed(number, 3 - exponent).replace(/\.?0+$/, "");
  const text = String(digits).slice(0, 4);
  const shown = `${text[0]}.${text.slice(1)}`.replace(/\.?0+$/, "");
  const sign = exponent < 0 ? "-" : "+";
  return `${number < 0 ? "-" : ""}${shown}e${sign}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

function divide(number: bigint, by: bigint): bigint {
  const whole = number / by;
  const rest = 2n * (number % by);
  return rest > by || (rest === by && whole % 2n === 1n) ? whole + 1n : whole;
}
