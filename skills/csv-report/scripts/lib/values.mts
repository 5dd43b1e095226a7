const plainNumber = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
const largeInteger = /^[+-]?\d{16,}$/;

/** Words that stand for no value. */
export function isEmpty(value: string): boolean {
  return value.length < 5 && /^(?:|-|n\/?a|nan|null|none|\\N)$/i.test(value);
}

/** A number, also with thousands separators, a currency or a percent sign; in `;` files also with a decimal comma. */
export function readNumber(value: string, delimiter: string): number | undefined {
  const text = value.trim();
  if (plainNumber.test(text)) return Number(text);
  if (!/\d/.test(text)) return undefined;
  const bare = plain(text);
  if (delimiter === ";" && /^[+-]?(?:\d{1,3}(?:\.\d{3})+|\d+),\d+$/.test(bare))
    return Number(bare.replaceAll(".", "").replace(",", "."));
  const digits = /^[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?$/.test(bare) ? bare.replaceAll(",", "") : bare;
  return plainNumber.test(digits) ? Number(digits) : undefined;
}

function plain(text: string): string {
  return text.replace(/^([+-]?)\s*[$€£¥]\s*/, "$1").replace(/\s*(?:[$€£¥%]|EUR|USD|GBP)$/, "");
}

/** Below 0 when `a` comes first: as numbers when both are numbers, as text otherwise. */
export function compareValues(a: string, b: string, delimiter: string): number {
  // Ids may be larger than what a number holds exactly.
  if (largeInteger.test(a) && largeInteger.test(b)) return compare(BigInt(a), BigInt(b));
  const [x, y] = [readNumber(a, delimiter), readNumber(b, delimiter)];
  return x !== undefined && y !== undefined ? compare(x, y) : compare(a, b);
}

export function compare<Value extends string | number | bigint>(a: Value, b: Value): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The value below which this share of the sorted ones lies. */
export function quantile(sorted: Float64Array, share: number): number {
  const place = share * (sorted.length - 1);
  const below = sorted[Math.trunc(place)] ?? 0;
  const above = sorted[Math.min(Math.trunc(place) + 1, sorted.length - 1)] ?? 0;
  return below + (place - Math.trunc(place)) * (above - below);
}
