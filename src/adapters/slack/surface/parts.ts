import { splitMarkdown } from "../../../chat/markdown.ts";

/** A piece of a long answer. */
export interface Part {
  /** Its place: the number of the part, and of the piece in it where Slack took only pieces: `1.0`. */
  path: string;
  markdown: string;
  /** The footer and the buttons belong to it. */
  isLast: boolean;
}

/** A part that Slack does not take even so short is not too long. */
const shortestChars = 1_000;

export function toParts(texts: readonly string[], parent?: Part): Part[] {
  return texts.map((markdown, index) => ({
    path: parent ? `${parent.path}.${index}` : String(index),
    markdown,
    isLast: index === texts.length - 1 && (parent?.isLast ?? true),
  }));
}

/** The pieces of a part that was too long; undefined for one that is short already. */
export function halve(part: Part): Part[] | undefined {
  const { length } = part.markdown;
  if (length <= shortestChars) return undefined;
  return toParts(splitMarkdown(part.markdown, Math.ceil(length / 2)), part);
}

/** What is left to be posted after the piece with that path, which an earlier attempt has posted. */
export function partsAfter(parts: readonly Part[], path: string): Part[] {
  const index = parts.findIndex((part) => path === part.path || path.startsWith(`${part.path}.`));
  const part = parts[index];
  if (!part) return [...parts];
  const rest = parts.slice(index + 1);
  return path === part.path ? rest : [...partsAfter(halve(part) ?? [], path), ...rest];
}
