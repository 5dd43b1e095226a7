// Regular expressions from the command line. Every skill that takes them has its own copy of this file.

/** Without regard to case; undefined when it is not valid. What other languages write for the same is understood. */
export function readPattern(text: string): RegExp | undefined {
  const translated = text
    .replace(/^\(\?i\)/, "")
    .replaceAll(/\\(.)/gs, (escape, letter: string) =>
      letter === "A" ? "^" : letter === "z" || letter === "Z" ? "$" : letter === "h" ? "[ \\t]" : escape,
    );
  try {
    return new RegExp(translated, "is");
  } catch {
    return undefined;
  }
}
