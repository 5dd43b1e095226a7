import type { Message, ToolMessage } from "../messages.ts";
import { isTrimmed } from "./shorten.ts";
import type { TokenCounter } from "./tokens.ts";

/** The texts of loaded skills may take so much of the room for messages; the newest alone so much. */
const skillShare = { all: 0.15, newest: 0.55 };

/** A skill that was loaded. */
export interface LoadedSkill {
  /** Its name, or its text where that has none. */
  name: string;
  /** Absent where it was released. */
  body?: string;
}

/** The skills that were loaded, oldest first; each where it was last loaded. */
export function collectSkills(messages: readonly Message[]): LoadedSkill[] {
  const skills = new Map<string, LoadedSkill>();
  const add = (skill: LoadedSkill) => {
    skills.delete(skill.name);
    skills.set(skill.name, skill);
  };
  for (const message of messages) {
    if (message.role === "summary") {
      for (const name of message.released ?? []) add({ name });
      for (const body of message.pinned ?? []) add({ name: readName(body), body });
    } else if (isLoadedSkill(message)) {
      const name = readName(message.text);
      add(isTrimmed(message) ? { name } : { name, body: message.text });
    }
  }
  return [...skills.values()];
}

/** Whether the message has the text of a skill, whole or trimmed. */
export function isLoadedSkill(message: Message): message is ToolMessage {
  return message.role === "tool" && message.name === "get_skill" && message.status === "ok";
}

/** Which skills stay whole, and the names of the others. The newest matter most. */
export function fitSkills(
  skills: readonly LoadedSkill[],
  room: number,
  counter: TokenCounter,
): { kept: string[]; released: string[] } {
  const kept: string[] = [];
  const released: string[] = [];
  let used = 0;
  for (const { name, body } of skills.toReversed()) {
    const tokens = body === undefined ? Infinity : counter.countFixed(body);
    const most = room * (kept.length === 0 ? skillShare.newest : skillShare.all);
    if (body === undefined || used + tokens > most) released.push(name);
    else {
      used += tokens;
      kept.push(body);
    }
  }
  return { kept: kept.toReversed(), released: released.toReversed() };
}

/** As `get_skill` heads its text. */
function readName(text: string): string {
  return /^<skill name="([^"\n]+)">/.exec(text)?.[1] ?? text;
}
