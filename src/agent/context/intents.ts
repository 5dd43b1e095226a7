import { formatUserText, isCompactOrder, isFromPerson, type Message } from "../messages.ts";
import type { JournalReader } from "../journal/journal.ts";
import type { TokenCounter } from "./tokens.ts";

/** What a person asked, as a summary carries it. */
export interface Intent {
  text: string;
  /** The number of the message for search_history, where it is known. */
  entry?: number | undefined;
}

/** Lengths to which requests are shortened, in characters; the last is the shortest that still tells what was asked. */
const lengths = [4_000, 2_000, 1_000, 500, 250, 125];
const shortest = 60;

/** Share of the limit that the newest requests may take unshortened when not all fit so. */
const wholeShare = 0.5;

/** What a list entry costs besides its text. */
const entryOverhead = 2;

/** How many records of a journal are looked through for the places of messages, at least. */
const mostRecords = 20_000;

/** What stands for the middle of a shortened request. */
const cutMark = /\[…(?: #(\d+) …)?\]/;

/**
 * The newest requests whole while they fit, the older ones shortened in their middle. `dropped` is how many of the
 * oldest do not fit even so.
 *
 * @param tokens what they may take
 */
export function fitIntents(
  intents: readonly Intent[],
  { tokens, counter }: { tokens: number; counter: TokenCounter },
): { kept: Intent[]; dropped: number } {
  const takeNewest = (from: readonly Intent[], most: number, chars: number) => {
    const taken: Intent[] = [];
    let left = most;
    for (const intent of from.toReversed()) {
      const short = { ...intent, text: cutMiddle(intent, chars) };
      const size = counter.count(short.text) + entryOverhead;
      if (size > left) break;
      left -= size;
      taken.push(short);
    }
    return { taken: taken.toReversed(), used: most - left };
  };

  const all = takeNewest(intents, tokens, Infinity).taken;
  if (all.length === intents.length) return { kept: all, dropped: 0 };

  const whole = takeNewest(intents, tokens * wholeShare, Infinity);
  const older = intents.slice(0, intents.length - whole.taken.length);
  for (const chars of [...lengths, shortest]) {
    const { taken } = takeNewest(older, tokens - whole.used, chars);
    if (taken.length < older.length && chars > shortest) continue;
    return { kept: [...taken, ...whole.taken], dropped: older.length - taken.length };
  }
  return { kept: whole.taken, dropped: older.length };
}

/** Whether the request is shortened. */
export function isCut({ text }: Intent): boolean {
  return cutMark.test(text);
}

/** At most so many characters: the beginning and the end, their lines as they are, around a mark with the entry. */
function cutMiddle({ text, entry }: Intent, characters: number): string {
  if (text.length <= characters) return text;
  const mark = entry === undefined ? "[…]" : `[… #${entry} …]`;
  const room = Math.max(20, characters - mark.length - 2);
  const head = Math.ceil(room * 0.6);
  const [before = "", , after = ""] = splitAtMark(text);
  const start = (before || text).slice(0, head).trimEnd();
  const end = (after || text).slice(-(room - head)).trimStart();
  return `${start.replace(/[\ud800-\udbff]$/, "")} ${mark} ${end.replace(/^[\udc00-\udfff]/, "")}`;
}

/** A shortened text's beginning, its mark and its end, so that it is never cut around a second one. */
function splitAtMark(text: string): string[] {
  const found = cutMark.exec(text);
  if (!found) return [];
  return [text.slice(0, found.index), found[0], text.slice(found.index + found[0].length)];
}

/** What people asked in these messages; orders to Heddle itself are not among it. */
export function collectIntents(messages: readonly Message[], entries: ReadonlyMap<string, number>): Intent[] {
  return messages.flatMap((message): Intent[] => {
    if (message.role === "summary") {
      const { intents = [], entries: numbers = [] } = message;
      // An older Heddle carries requests on without their entries.
      const known = numbers.length === intents.length ? numbers : [];
      return intents
        .map((text, at) => ({ text, entry: known[at] ?? undefined }))
        .filter(({ text }) => !/^\[[^\]]*\] [/!]?compact$/i.test(text));
    }
    if (!isFromPerson(message) || isCompactOrder(message)) return [];
    const pictures = message.images?.length ?? 0;
    const text = `${formatUserText(message).trim()}${pictures > 0 ? `\n${describePictures(pictures)}` : ""}`;
    return [{ text, entry: entries.get(message.id) }];
  });
}

function describePictures(count: number): string {
  return count === 1
    ? "[1 picture came with it, which is out of view]"
    : `[${count} pictures came with it, which are out of view]`;
}

/** The numbers of people's messages for search_history, by the messages' ids. */
export async function findEntries(
  messages: readonly Message[],
  journal: JournalReader | undefined,
): Promise<Map<string, number>> {
  const entries = new Map<string, number>();
  const wanted = new Set(messages.filter(isFromPerson).map(({ id }) => id));
  if (!journal || wanted.size === 0) return entries;
  let read = 0;
  for await (const { records, from } of journal.backward()) {
    for (const [index, record] of records.entries()) {
      if (record.type === "user" && wanted.delete(record.message.id))
        entries.set(record.message.id, from + index + 1);
    }
    read += records.length;
    // What is older than that has been summarised before, with its entry.
    if (wanted.size === 0 || read >= Math.max(mostRecords, messages.length * 20)) break;
  }
  return entries;
}
