/** The targets of a Markdown text's links, in order; those of images are left out. */
export function findLinks(text) {
  const link = /(?<!!)\[[^\]]*\]\(((?:[^\s()]|\([^\s()]*\))+)(?:\s+"[^"]*")?\)/g;
  return [...text.matchAll(link)].map((match) => match[1]);
}
