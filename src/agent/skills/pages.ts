/** Of a loaded skill's text so much is shown at once, in characters: with its list of files it is below what a result takes. */
export const pageChars = 36_000;

/**
 * The text in pages, cut between lines and, where there is a heading in the second half of a page, before the last one
 * there. A line that is longer than a page is cut in itself. Joined by line feeds, they are the text again, but for such
 * a line.
 */
export function splitPages(text: string): string[] {
  if (text.length <= pageChars) return [text];
  const pages: string[] = [];
  let rest = text;
  while (rest.length > pageChars) {
    const head = rest.slice(0, pageChars + 1);
    const heading = head.lastIndexOf("\n#");
    const line = head.lastIndexOf("\n");
    const cut = heading > pageChars / 2 ? heading : line;
    pages.push(cut > 0 ? rest.slice(0, cut) : rest.slice(0, pageChars));
    rest = cut > 0 ? rest.slice(cut + 1) : rest.slice(pageChars);
  }
  return [...pages, rest];
}
