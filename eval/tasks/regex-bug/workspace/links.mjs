/** The targets of a Markdown text's links, in order; those of images are left out. */
export function findLinks(text) {
  return [...text.matchAll(/\[.*\]\((.*)\)/g)].map((match) => match[1]);
}
