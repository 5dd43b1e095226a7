import type { JournalReader, JournalRecord } from "../agent/journal/journal.ts";
import { isFromPerson } from "../agent/messages.ts";
import { cutSigns } from "../agent/text/text.ts";
import { addressLine, webFetchName, webSearchName } from "../agent/contracts/web.ts";

/**
 * Where the addresses of a thread come from. One that a person wrote, a search returned or a fetched page linked says
 * nothing that the agent knows; one that the model has put together may. The journal is the record of it: it keeps
 * everything, whatever compaction takes out of the model's view and whichever process runs the next turn.
 */
export interface AddressBook {
  /** Whether somebody has given this very address. Never throws; what cannot be found out in time is no. */
  isGiven(address: string): Promise<boolean>;
  /** Remembers what a result shows until the end of the turn, also a sub-agent's, which no journal holds. */
  noteShown(result: { tool: string; text: string }): void;
}

/** A long journal is looked through for so long. */
const searchMs = 5_000;

/** @param history absent where no journal is kept: then only what this turn has shown counts */
export function createAddressBook(history: JournalReader | undefined, now: () => number): AddressBook {
  const given = new Set<string>();
  /** The part of the journal that was read: from the first of these positions to before the second. */
  let read: { from: number; to: number } | undefined;
  const learn = (records: readonly JournalRecord[]) => {
    for (const record of records) for (const key of listGiven(record)) given.add(key);
  };

  async function readNewer(reader: JournalReader): Promise<void> {
    if (!read) return;
    for await (const { records, from } of reader.forward(read.to)) {
      learn(records);
      read.to = from + records.length;
    }
  }

  /** Goes back until the address is found, the journal is read, or time is up. */
  async function readOlder(reader: JournalReader, key: string, deadline: number): Promise<void> {
    if (read?.from === 0) return;
    for await (const { records, from } of reader.backward(read?.from)) {
      learn(records);
      read = { from, to: read?.to ?? from + records.length };
      if (given.has(key) || now() >= deadline) return;
    }
  }

  return {
    async isGiven(address) {
      const key = toKey(address);
      if (key === undefined) return false;
      if (given.has(key)) return true;
      if (!history) return false;
      const deadline = now() + searchMs;
      try {
        await readNewer(history);
        if (!given.has(key)) await readOlder(history, key, deadline);
      } catch {
        // A journal that cannot be read gives nothing; the model's own way of writing to it fails louder.
      }
      return given.has(key);
    },
    noteShown({ tool, text }) {
      for (const key of listShown(tool, text)) given.add(key);
    },
  };
}

function listGiven(record: JournalRecord): string[] {
  switch (record.type) {
    case "user":
      // What is planned for later was put into words by the model.
      return isFromPerson(record.message) && !record.message.scheduled
        ? listWritten(record.message.text)
        : [];
    case "enclosure":
      return listWritten(quotedOf(record.beside));
    case "tool-result": {
      const { name, status, text } = record.message;
      return status === "ok" ? listShown(name, text) : [];
    }
    default:
      return [];
  }
}

/** What others said before, and not what Heddle says about it. */
function quotedOf(text: string): string {
  return text
    .split("\n")
    .filter((line) => line.startsWith("> "))
    .join("\n");
}

/** The addresses in what a person wrote: also those without `https://`, which people leave out. */
function listWritten(text: string): string[] {
  const bare = text.matchAll(/(?<![\w@./:-])(?:[a-z0-9-]+\.)+[a-z]{2,24}(?![\w@-])(?:\/[^\s<>"'`]*)?/gi);
  return [...listAddresses(text), ...[...bare].flatMap(([found]) => listAddresses(`https://${found}`))];
}

/** The addresses that a result gives. */
function listShown(tool: string, text: string): string[] {
  if (tool !== webFetchName && tool !== webSearchName) return [];
  const own = text
    .split("\n")
    .filter((line) => line.startsWith(addressLine))
    .map((line) => line.slice(addressLine.length).trim());
  const keys = own.flatMap((address) => toKey(address) ?? []);
  if (tool === webSearchName) return keys;
  return [
    ...keys,
    ...listAddresses(quotedOf(text)).filter((key) => !own.some((page) => isEchoed(key, page))),
  ];
}

/**
 * Whether a page may only repeat what its own address says: a page that is asked with `?q=https://other.example/…`
 * and links that has told nothing new.
 */
function isEchoed(key: string, page: string): boolean {
  const host = key.slice(0, key.indexOf("/"));
  const url = URL.parse(page);
  return !url || (host !== url.host && decodeAll(`${url.pathname}${url.search}`).includes(host));
}

/** The address with its escapes undone, also those within escapes. */
export function decodeAll(address: string): string {
  let text = address;
  for (let times = 0; times < 4; times += 1) {
    const decoded = text.replaceAll(/(?:%[0-9a-f]{2})+/gi, (part) => decodePart(part));
    if (decoded === text) break;
    text = decoded;
  }
  return text;
}

function decodePart(part: string): string {
  return Buffer.from(part.replaceAll("%", ""), "hex").toString("utf8");
}

function listAddresses(text: string): string[] {
  return [...text.matchAll(/https?:\/\/[^\s<>"'`\\^{}|]+/gi)].flatMap(([found]) => {
    // Of `[words](https://example.com/a)` the bracket is none of it, and in `/a_(b)` it is.
    return [found, cutAtBracket(found)]
      .flatMap((whole) => [whole, cutSigns(whole, ".,;:!?*_~"), cutSigns(whole, ".,;:!?*_~)]}>")])
      .flatMap((address) => toKey(address) ?? []);
  });
}

/** Up to the first bracket that closes and was not opened. */
function cutAtBracket(text: string): string {
  let open = 0;
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (char === "(" || char === "[") open += 1;
    if (char === ")" || char === "]") open -= 1;
    if (open < 0) return text.slice(0, at);
  }
  return text;
}

/** What makes two spellings the same address: neither the scheme nor the part behind `#` reaches another page. */
function toKey(address: string): string | undefined {
  const url = URL.parse(address);
  if (!url || !/^https?:$/.test(url.protocol) || !url.hostname) return undefined;
  const path = url.pathname.replace(/\/$/, "");
  return `${url.host}${path}/${url.search}`
    .replaceAll(/%28/g, "(")
    .replaceAll(/%29/g, ")")
    .replaceAll(/%[0-9a-f]{2}/g, (escape) => escape.toUpperCase());
}
