/**
 * The same as intake's text commands, and `compact` of the agent's loop; each with a slash, or with an exclamation mark
 * where the platform keeps the slash for itself.
 */
const pattern =
  /^[/!]?(stop|status|continue|compact|quiet|normal|full|schedules|model|prompt|notify(?: (?:on|off|default))?|disconnect(?: [\w.-]{1,64})?|(?:undo|fork)(?: \d{1,9})?|redo|queue(?: (?:(?:remove|first|last) m\d+|move m\d+ (?:to )?\d{1,3}))?)$/i;

/** A person as both platforms write one, or an id. */
const person = /<@!?[A-Za-z0-9]+(?:\|[^<>]*)?>|[UW][A-Z0-9]{5,}|\d{15,21}/.source;
const people = `(?:[\\s,]+(?:${person}))+`;

/**
 * Commands of administrators. Their values keep their case, and words that only begin like one are a task: `allow me to
 * ask`, `channel the water`.
 */
const adminPattern = new RegExp(
  `^[/!]?((?:allow|deny|people\\s+reset)${people}|people|channel(?:\\s+(?:model|instructions|verbosity|budget)\\s+[\\s\\S]+)?)$`,
  "i",
);
const peoplePattern = new RegExp(`^[/!]?(?:allow|deny|people\\s+reset)${people}$`, "i");

/** The text command that is the whole text, if it is one: it would be an odd task. */
export function readThreadCommand(text: string): string | undefined {
  return adminPattern.exec(text.trim())?.[1] ?? pattern.exec(text)?.[1]?.toLowerCase();
}

/** Whether the text is a command about people, whose mentions must stay what they are: a name is no identity. */
export function isAboutPeople(text: string): boolean {
  return peoplePattern.test(text.trim());
}

const turnCommands = new Set(["continue", "compact"]);

/** Intake says what is wrong with the number, wherever it is asked. */
const wrongNumber = /^(?:undo|fork) (?![1-9]\d?$)/;

/** Whether that command is answered in a channel too, outside of its threads. */
export function isForChannels(command: string): boolean {
  return (
    command === "queue" ||
    /^(?:notify|disconnect|prompt)\b/.test(command) ||
    wrongNumber.test(command) ||
    adminPattern.test(command)
  );
}

/** Whether that command is answered without a turn, so that it may be answered to one person alone. */
export function isAnsweredAtOnce(command: string): boolean {
  return !turnCommands.has(command);
}

/**
 * The task as a message in a thread would give it. Behind a command of the platform people write `plan: …`, without the
 * exclamation mark that marks the order in a message.
 *
 * @param text what stands behind the command
 */
export function readCommandTask(text: string): string {
  return text.replace(/^plan\s*:\s*(?=\S)/i, "!plan ");
}
