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
