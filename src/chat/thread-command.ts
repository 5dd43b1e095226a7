/**
 * The same as intake's text commands, and `compact` of the agent's loop; each with a slash, or with an exclamation mark
 * where the platform keeps the slash for itself.
 */
const pattern =
  /^[/!]?(stop|status|continue|compact|quiet|normal|full|schedules|model|queue(?: (?:remove|first) m\d+)?)$/i;

/** The text command for a thread that is the whole text, if it is one: it would be an odd task. */
export function readThreadCommand(text: string): string | undefined {
  return pattern.exec(text)?.[1]?.toLowerCase();
}

const turnCommands = new Set(["continue", "compact"]);

/** Whether that command means something in a channel too, outside of its threads. */
export function isForChannels(command: string): boolean {
  return command === "queue";
}

/** Whether that command is answered without a turn, so that it may be answered to one person alone. */
export function isAnsweredAtOnce(command: string): boolean {
  return !turnCommands.has(command);
}
