/** Arguments of a tool are a few levels deep. */
export const mostLevels = 100;

/**
 * Whether a value is nested deeper than any tool's arguments. What walks through a value level by level ends with the
 * stack after some thousands, and a call that stands in a journal is walked through in each later turn of its thread.
 */
export function isTooDeep(value: unknown, levels = mostLevels): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((item) => isTooDeep(item, levels - 1));
}

/**
 * The same of a text that is yet to be parsed: the parser takes a second for a million brackets, in which nothing else
 * runs. Of what is no JSON the answer says nothing.
 */
export function isJsonTooDeep(json: string, levels = mostLevels): boolean {
  let [depth, isInString] = [0, false];
  for (let at = 0; at < json.length && depth <= levels; at += 1) {
    const character = json[at];
    if (isInString) {
      // What is escaped ends nothing.
      if (character === "\\") at += 1;
      else if (character === '"') isInString = false;
    } else if (character === '"') isInString = true;
    else if (character === "[" || character === "{") depth += 1;
    else if (character === "]" || character === "}") depth -= 1;
  }
  return depth > levels;
}
