/** What a person asks for about the schedules of a thread, without a model. */
export type ScheduleWords = { do: "list" } | { do: "cancel"; id: string };

/**
 * The whole message must be `/schedules` or `/unschedule <id>`; without the slash too, because some platforms
 * keep messages that begin with one to themselves.
 */
export function scheduleWordsIn(text: string): ScheduleWords | undefined {
  if (/^\s*\/?schedules\s*$/i.test(text)) return { do: "list" };
  const id = /^\s*\/?unschedule\s+`?(\w+)`?\s*$/i.exec(text)?.[1];
  return id === undefined ? undefined : { do: "cancel", id };
}
