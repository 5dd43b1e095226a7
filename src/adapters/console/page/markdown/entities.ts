/** Characters that Markdown writes by their names or numbers, as HTML does. */

/** With the number in decimal or in hex, or the name. */
export const entity = /&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|([a-zA-Z]\w{1,9}));/y;

/** Those that people and models write; empty for all others. */
const entities: Record<string, string> = {
  ...{
    amp: "&",
    lt: "<",
    gt: ">",
    quot: '"',
    apos: "'",
    nbsp: "\u00A0",
    hellip: "…",
    mdash: "—",
    ndash: "–",
  },
  ...{ lsquo: "‘", rsquo: "’", ldquo: "“", rdquo: "”", laquo: "«", raquo: "»", bull: "•", middot: "·" },
  ...{ copy: "©", reg: "®", trade: "™", deg: "°", plusmn: "±", times: "×", divide: "÷", minus: "−" },
  ...{ le: "≤", ge: "≥", ne: "≠", asymp: "≈", infin: "∞", larr: "←", uarr: "↑", rarr: "→", darr: "↓" },
  ...{ euro: "€", pound: "£", yen: "¥", cent: "¢", sect: "§", para: "¶", check: "✓", cross: "✗" },
};

/** The character of what {@link entity} has matched. */
export function decodeEntity([, decimal, hex, name]: RegExpExecArray): string {
  if (name !== undefined) return Object.hasOwn(entities, name) ? (entities[name] ?? "") : "";
  const code = decimal === undefined ? Number.parseInt(hex ?? "", 16) : Number(decimal);
  // Neither a control character nor half of one.
  const isText = code >= 0x20 && code <= 0x10ffff && !(code >= 0x7f && code < 0xa0);
  return isText && !(code >= 0xd800 && code <= 0xdfff) ? String.fromCodePoint(code) : "\uFFFD";
}
