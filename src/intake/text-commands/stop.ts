const stopCommands = new Set(["stop", "cancel", "abort", "halt", "🛑"]);

/**
 * Whether the whole message is a command to stop. It must match exactly after normalisation, so that "don't stop until
 * it works" and "stop the server" stay tasks.
 */
export function isStopCommand(text: string): boolean {
  const command = text
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/[\s.!,:;/]+/g, " ")
    .trim();
  return stopCommands.has(command);
}
