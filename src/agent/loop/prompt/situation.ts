import { isNudge, type Message, type UserMessage } from "../../messages.ts";

/**
 * Date, time and place, which a turn's first request holds. They stand in a message behind the people's own and not in
 * the system prompt: a date there would void the prompt cache of every thread at midnight.
 */
export interface Situation {
  /** IANA name of the time zone that the time is told in. */
  timeZone: string;
  /** Where the conversation is, e.g. `the channel #deploys on Slack`. */
  place: string;
  /** The skill that people have chosen for the thread. */
  skill?: string;
}

/** Ends the id of such a message. */
export const situationMark = ":situation";

const placed = "This conversation is in ";
const chosen = "For this conversation people have chosen ";
const noSkill = `${chosen}no skill any more.`;

/** The time is told again to whoever writes later than this after it was told, ms. */
const freshMs = 10 * 60_000;

/** What to tell the model at `now`; undefined while it has all of it in view and the time is fresh. */
export function findNewSituation(
  { timeZone, place, skill }: Situation,
  messages: readonly Message[],
  now: number,
): string | undefined {
  const told = messages.findLast(isSituation);
  const where = `${placed}${place}.`;
  const choice =
    skill === undefined ? noSkill : `${chosen}the skill ${skill}: load it with get_skill and follow it.`;
  const news = [
    !isNewest(placed, where, messages) && where,
    // Where none was ever chosen, there is nothing to say of it.
    !isNewest(chosen, choice, messages, skill === undefined) && choice,
  ].filter(Boolean);
  const age = told ? now - told.at : Infinity;
  if (news.length === 0 && age >= 0 && age < freshMs) return undefined;
  return `(${[`It is ${formatTime(now, timeZone)}.`, ...news].join(" ")})`;
}

export function isSituation(message: Message): message is UserMessage {
  return isNudge(message, situationMark);
}

/** Whether the newest of what begins like that is what it says. @param unsaid where nothing does */
function isNewest(begin: string, sentence: string, messages: readonly Message[], unsaid = false): boolean {
  const newest = messages.filter(isSituation).findLast(({ text }) => text.includes(begin));
  return newest?.text.includes(sentence) ?? unsaid;
}

/** For example `Sunday, 2026-11-22 23:40 (UTC+01:00, Europe/Berlin)`. */
function formatTime(at: number, timeZone: string): string {
  const { weekday, offset, time } = formatsOf(timeZone);
  const shift = offset.formatToParts(at).find(({ type }) => type === "timeZoneName")?.value ?? "GMT";
  const zone = timeZone === "UTC" ? timeZone : `${shift.replace("GMT", "UTC")}, ${timeZone}`;
  return `${weekday.format(at)}, ${time.format(at)} (${zone})`;
}

type Formats = Record<"weekday" | "time" | "offset", Intl.DateTimeFormat>;

/** Formats are slow to make. */
const formats = new Map<string, Formats>();

function formatsOf(timeZone: string): Formats {
  const known = formats.get(timeZone);
  if (known) return known;
  const made = {
    weekday: new Intl.DateTimeFormat("en", { timeZone, weekday: "long" }),
    // Swedish writes dates as ISO 8601 has them.
    time: new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short", timeStyle: "short" }),
    offset: new Intl.DateTimeFormat("en", { timeZone, timeZoneName: "longOffset" }),
  };
  formats.set(timeZone, made);
  return made;
}
