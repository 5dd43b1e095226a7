/** Elements without content, and those whose end tag is often left out: they say nothing about depth. */
const uncounted = new Set(
  (
    "area base br col embed hr img input link meta param source track wbr " +
    "p li dt dd option optgroup tr td th tbody thead tfoot colgroup caption rt rp html head body"
  ).split(" "),
);
/** Their content is no markup. */
const verbatim = new Set(["script", "style", "textarea", "title"]);

const tagName = /\/?[a-z][a-z0-9-]{0,30}/iy;

/**
 * How deep the elements of a page are nested, about, in time in proportion to its length. Parsers and what walks their
 * trees recurse, so a page that is too deep must not reach them.
 */
export function measureNesting(source: string, enough: number): number {
  const html = source.toLowerCase();
  let depth = 0;
  let deepest = 0;
  for (let at = html.indexOf("<"); at >= 0 && deepest < enough; at = html.indexOf("<", at + 1)) {
    tagName.lastIndex = at + 1;
    const [tag = ""] = tagName.exec(html) ?? [];
    const name = tag.replace("/", "");
    if (tag === "" || uncounted.has(name)) continue;
    if (tag.startsWith("/")) {
      depth = Math.max(0, depth - 1);
      continue;
    }
    if (verbatim.has(name)) {
      const end = html.indexOf(`</${name}`, at);
      // Without an end everything behind it is its content.
      if (end < 0) return deepest;
      at = end;
      continue;
    }
    depth += 1;
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}

const entities: Record<string, string> = {
  ...{ amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " " },
  ...{ hellip: "…", ndash: "–", mdash: "—", lsquo: "‘", rsquo: "’", ldquo: "“", rdquo: "”" },
};

/** Characters for the references to them that are common in prose, and all of those by number. */
export function decodeReferences(text: string): string {
  return text.replaceAll(
    /&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,6}));/gi,
    (whole, decimal?: string, hex?: string, name = "") => {
      const code = decimal === undefined ? Number.parseInt(hex ?? "", 16) : Number(decimal);
      if (Number.isNaN(code)) return entities[name] ?? whole;
      return code > 0 && code <= 0x10_ff_ff ? String.fromCodePoint(code).toWellFormed() : whole;
    },
  );
}

/** The words of a page without its markup, for one that must not be parsed. */
export function stripTags(html: string): string {
  let text = "";
  let from = 0;
  for (let at = html.indexOf("<"); at >= 0; at = html.indexOf("<", from)) {
    text += html.slice(from, at);
    tagName.lastIndex = at + 1;
    const [tag = ""] = tagName.exec(html) ?? [];
    if (tag === "" && !/[!?/]/.test(html[at + 1] ?? "")) {
      text += "<";
      from = at + 1;
      continue;
    }
    const name = tag.toLowerCase();
    const end = name === "script" || name === "style" ? html.indexOf(`</${name}`, at) : at;
    const close = end < 0 ? -1 : html.indexOf(">", end);
    if (close < 0) return tidy(text);
    text += "\n";
    from = close + 1;
  }
  return tidy(text + html.slice(from));
}

function tidy(text: string): string {
  return decodeReferences(text)
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean)
    .join("\n");
}
