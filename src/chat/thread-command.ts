/**
 * Intake reads the same, and the agent's loop `compact`; each of them with a slash, or with an exclamation mark where a
 * platform keeps the slash.
 */
const words = /^[/!]?(stop|status|continue|compact|quiet|normal|full|schedules)$/i;

/** The word, if a command holds nothing but one that is said about a thread: it would be an odd task. */
export function readThreadCommand(text: string): string | undefined {
  return words.exec(text)?.[1]?.toLowerCase();
}
