/** Signs that would be markup in the middle of a line; an underscore within a word is none. */
const markup = /[\\`*~|<>[\]]|(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])/g;

/** Text for the middle of a line of CommonMark that reads as it is written: a name, which people choose themselves. */
export function escapeMarkdown(text: string): string {
  return text.replaceAll(markup, "\\$&");
}
