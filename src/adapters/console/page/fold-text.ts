/**
 * A text as searches compare it, whatever its case, and whether its accents are characters of their own, as in the names of
 * files of a Mac.
 */
export function foldText(text: string): string {
  return text.normalize().toLowerCase();
}
