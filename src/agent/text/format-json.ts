/** What line breaks and spaces may add: to a small value whatever its shape wants, to a large one so many times its size. */
const spareChars = 20_000;
const mostTimes = 4;

/**
 * A value as people read it: JSON with line breaks and indentation, or without any where they would be most of it. A
 * model, a server or a sender of webhooks decides how deep a value is nested, and 14 kB of it, indented, are 20 MB.
 *
 * @param indent spaces of each level
 * @example
 * formatJson({ path: "a.md" }); // '{\n  "path": "a.md"\n}'
 */
export function formatJson(value: unknown, indent = 2): string {
  // Undefined for what JSON does not know, although its type does not say so.
  const compact = JSON.stringify(value) as string | undefined;
  if (compact === undefined) return "";
  const most = spareChars + mostTimes * compact.length;
  return addsMore(compact, indent, most) ? compact : JSON.stringify(value, undefined, indent);
}

/** Whether indentation adds more than so many characters to JSON that has none. */
function addsMore(compact: string, indent: number, most: number): boolean {
  let [depth, added, isInString] = [0, 0, false];
  for (let at = 0; at < compact.length && added <= most; at += 1) {
    const character = compact[at];
    if (isInString) {
      // What is escaped ends nothing.
      if (character === "\\") at += 1;
      else if (character === '"') isInString = false;
    } else if (character === '"') isInString = true;
    else if (character === ":") added += 1;
    else if (character === "," || character === "[" || character === "{") {
      if (character !== ",") depth += 1;
      added += 1 + indent * depth;
    } else if (character === "]" || character === "}") {
      depth -= 1;
      added += 1 + indent * depth;
    }
  }
  return added > most;
}
