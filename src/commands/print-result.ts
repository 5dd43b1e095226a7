import { stripControls } from "./run/terminal-view.ts";

/**
 * Prints what a command has found or done: as JSON for programs, else in words for people, without characters that a
 * terminal acts on. @param mask where names or texts may hold a secret
 */
export function printResult(
  json: true | undefined,
  facts: object,
  words: string,
  mask: (text: string) => string = (text) => text,
): void {
  process.stdout.write(mask(json ? `${JSON.stringify(facts)}\n` : `${stripControls(words)}\n`));
}
