import { type Message, toolCalls, type ToolMessage } from "../messages.ts";
import { isTrimmed } from "./shorten.ts";
import type { TokenCounter } from "./tokens.ts";

/** What was loaded may take so much of the room for messages; the newest alone so much. */
const loadedShare = { all: 0.15, newest: 0.55 };

/** A skill that was loaded, or a tool that was found. */
export interface Loaded {
  /** Its name, or its text where that has none. */
  name: string;
  /** Absent where it was released. */
  body?: string;
}

/** The skills and tools that were loaded, oldest first; each where it was last loaded, a tool where it was last called. */
export function collectLoaded(messages: readonly Message[]): Loaded[] {
  const all = new Map<string, Loaded>();
  const add = (loaded: Loaded) => {
    all.delete(loaded.name);
    all.set(loaded.name, loaded);
  };
  for (const message of messages) {
    if (message.role === "summary") {
      for (const name of message.released ?? []) add({ name });
      for (const body of message.pinned ?? []) add({ name: readName(body), body });
    } else if (message.role === "assistant") {
      for (const { name } of toolCalls(message)) {
        const loaded = all.get(name);
        if (loaded?.body !== undefined && isFoundTool(loaded.body)) add(loaded);
      }
    } else if (isLoadedSkill(message)) {
      const name = readName(message.text);
      add(isTrimmed(message) ? { name } : { name, body: message.text });
    } else for (const body of listFoundTools(message)) add({ name: readName(body), body });
  }
  return [...all.values()];
}

/** Whether the message has the text of a skill, whole or trimmed. */
function isLoadedSkill(message: Message): message is ToolMessage {
  return message.role === "tool" && message.name === "get_skill" && message.status === "ok";
}

/** Whether the message holds one of these bodies. */
export function holdsLoaded(message: ToolMessage, bodies: ReadonlySet<string>): boolean {
  if (isLoadedSkill(message)) return bodies.has(message.text);
  return listFoundTools(message).some((body) => bodies.has(body));
}

/** What stays whole, and the names of the other skills: a tool is easily found again. The newest matter most. */
export function fitLoaded(
  all: readonly Loaded[],
  room: number,
  counter: TokenCounter,
): { kept: string[]; released: string[] } {
  const kept: string[] = [];
  const released: string[] = [];
  let used = 0;
  for (const { name, body } of all.toReversed()) {
    const tokens = body === undefined ? Infinity : counter.countFixed(body);
    const most = room * (kept.length === 0 ? loadedShare.newest : loadedShare.all);
    if (body !== undefined && used + tokens <= most) {
      used += tokens;
      kept.push(body);
    } else if (body === undefined || !isFoundTool(body)) released.push(name);
  }
  return { kept: kept.toReversed(), released: released.toReversed() };
}

/** Whether the body is that of a tool. */
export function isFoundTool(body: string): boolean {
  return body.startsWith("<tool ");
}

/** As `find_tools` shows each (see `formatFoundTool`). */
function listFoundTools(message: Message): string[] {
  if (message.role !== "tool" || message.name !== "find_tools") return [];
  return message.text.match(/^<tool name="[^"\n]+">\n[\s\S]*?\n<\/tool>$/gm) ?? [];
}

/** As `get_skill` and `find_tools` head their texts. */
function readName(text: string): string {
  return /^<(?:skill|tool) name="([^"\n]+)">/.exec(text)?.[1] ?? text;
}
