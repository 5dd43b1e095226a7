/** Puts the figures of a run into a page of the documentation. */
import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";

/**
 * Replaces what stands between `<!-- mark -->` and `<!-- end of mark -->`.
 *
 * @param page name in docs/
 * @throws where the page does not have both
 */
export function publishFigures(page: string, mark: string, text: string): void {
  const file = resolve(import.meta.dirname, "../docs", page);
  const old = readFileSync(file, "utf8");
  const [begin, end] = [`<!-- ${mark} -->`, `<!-- end of ${mark} -->`];
  const [from, to] = [old.indexOf(begin), old.indexOf(end)];
  if (from < 0 || to < from)
    throw new Error(`docs/${page} has no place for figures between ${begin} and ${end}.`);
  writeFileSync(file, `${old.slice(0, from + begin.length)}\n\n${text}\n\n${old.slice(to)}`);
}
