import type { ShownMark } from "../../../src/chat/outbound.ts";

/** What the scenario can say about a chat, in words that are the same on every platform. */

/** A message as people see it. */
export interface Seen {
  who: string;
  /** Without the mention of the bot. */
  text: string;
  /** The small print. */
  footer: string;
  /** The state that the bot shows at it. */
  mark?: ShownMark | undefined;
  buttons: string[];
  files: string[];
}

export interface SentFile {
  name: string;
  content: string;
}

/** What not every platform knows. */
export type Ability = "several people" | "edits" | "watched channels";

export interface PlatformKind {
  name: string;
  /** What the platform honestly does not have: acts that need it are not played there. */
  lacks: readonly Ability[];
  open(): Promise<Platform>;
}

/** A chat platform behind its own protocol. `Raw`: its own kind of message. */
export interface Platform<Raw = unknown> {
  /** What the program is started with. */
  environment: Record<string, string>;
  /** Who may write there and what they may use, as in `heddle.yaml`: Max, where there are several people, nothing. */
  rules: { access?: object; budgets?: object; channels?: object };
  /** The channel of a room, as the settings name it. */
  channel(room: string): string;
  /** A place for one conversation. @param console the address that the program has printed */
  room(name: string, console: string): Promise<Room<Raw>>;
  /** How the platform tells the names in a transcript. */
  names(transcript: string): string;
  close(): Promise<void>;
}

/** One thread with everything that is said in it. */
export interface Room<Raw = unknown> {
  /** In the order in which they stand there. */
  messages(): Raw[];
  seen(message: Raw): Seen;
  /** The same with everything that the platform draws of it. */
  drawn(message: Raw): string;
  says(who: string, text: string, options: { mention: boolean; file?: SentFile }): Promise<void>;
  /** Resolves when the program has it, as `deletes` and `presses`. */
  edits(who: string, message: Raw, text: string): Promise<void>;
  deletes(who: string, message: Raw): Promise<void>;
  /** Orders a stop by what is nearest: a 🛑 at the message, where there are reactions. */
  stops(who: string, message: Raw): Promise<void>;
  /** @param sentence what the button asks for */
  presses(who: string, label: string, message: Raw, sentence?: string): Promise<void>;
  /** What was told to that person alone, in the order in which it was. */
  toldAlone(who: string): string[];
  /** The content of a file of a message. */
  file(message: Raw, name: string): Promise<string>;
  /** Waits until the condition gives something. */
  until<T>(condition: () => T | false | undefined): Promise<T>;
}

const longText = 1_000;

/** The room as one text, a line a message, with the figures that differ from run to run left out. */
export function transcript(room: Room): string {
  const lines: Seen[] = [];
  for (const message of room.messages().map((raw) => room.seen(raw))) {
    const before = lines.at(-1);
    if (before && goesOn(before, message)) {
      lines[lines.length - 1] = { ...message, text: `${before.text}\n${message.text}` };
    } else {
      lines.push(message);
    }
  }
  return lines.map(line).join("\n");
}

/** Platforms differ in what one message takes; the parts of a long answer count as one. */
function goesOn(before: Seen, message: Seen): boolean {
  const isPart = before.footer === "" && before.buttons.length === 0 && before.text.length > longText;
  return isPart && message.who === before.who;
}

function line({ who, text, footer, mark, buttons, files }: Seen): string {
  return leaveOutFigures(
    [
      `${who}:`,
      ...(text ? [short(text.replaceAll(/\s+/g, " ").trim())] : []),
      ...(footer ? [`(${footer})`] : []),
      ...files.map((name) => `<${name}>`),
      ...buttons.map((label) => `[${label}]`),
      ...(mark ? [`{${mark}}`] : []),
    ].join(" "),
  );
}

/** A text without what differs from run to run and from platform to platform. */
export function leaveOutFigures(text: string): string {
  return (
    text
      .replaceAll(/\b\d+ (h|min|s|ms)\b( \d+ (min|s)\b)?/g, "TIME")
      .replaceAll(/\(\d+ process(es)?\)/g, "(N processes)")
      .replaceAll(/[\d,]+ tokens/g, "N tokens")
      .replaceAll(/\$[\d.]+/g, "$N")
      .replaceAll(/\b127\.0\.0\.1:\d+/g, "tickets.example")
      // Whether anybody has used it yet differs from run to run.
      .replaceAll(/\s*- MCP server tickets: \w+, \d+ tools/g, "")
      .replaceAll(/\b\d+ turns? running and room for \d+ more/g, "N turns running and room for N more")
      // At the console, all situations are played in one channel.
      .replaceAll(
        /\s*\*\*Waiting in other threads(?: of this channel)?\*\*[^]*?(?=\s+(?:One turn runs|\d+ turns run)\b)/g,
        "",
      )
      .replaceAll(/\b(?:One turn runs|\d+ turns run)(?: in this channel)?\./g, "N turns run in this channel.")
      .replaceAll(/\b600\.\d+/g, "600")
      .replaceAll(/\bs[\da-f]{8}\b/g, "ID")
      .replaceAll(/\b\d{4}-\d\d-\d\d \d\d:\d\d UTC/g, "DATE")
      .replaceAll(/\b[A-Z][a-z]{2} \d{1,2} [A-Z][a-z]{2,3} \d\d:\d\d\b/g, "DATE")
      // Who may write is said in each platform's own words.
      .replaceAll(/I only take work from .*?\.( Please .*?\.)?(?= \(|$)/gm, "I only take work from …")
  );
}

function short(text: string): string {
  if (text.length <= longText) return text;
  return `${text.slice(0, 30)} … ${text.slice(-30)} [${text.length} characters]`;
}
