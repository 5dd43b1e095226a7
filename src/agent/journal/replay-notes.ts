/** Messages of Heddle's own that stand in a conversation for what is missing from it. */
import { heddle, plainName, type ToolCall, type UserMessage } from "../messages.ts";

/** What the note on a refused turn is made of. */
interface RefusedTurn {
  id: string;
  /** The people's messages that it had taken. */
  asked: readonly UserMessage[];
  calls: readonly { call: ToolCall }[];
}

/** Ends a turn that was stopped, so that the model knows why its work breaks off. */
export function noteStop(
  turn: string,
  { order, said }: { order: { by: string; at: number }; said?: string },
): UserMessage {
  const what = `${order.by} stopped the work above before it was finished.`;
  const text =
    said === undefined ? `(${what})` : `(${what} What you were writing then, and people have seen:)\n${said}`;
  return { role: "user", id: `${turn}:stopped`, author: heddle, text, at: order.at };
}

/**
 * Takes the place of a turn of which the service has refused something: the service reads the whole conversation each
 * time, so it would refuse every later turn too, whatever is asked in it.
 */
export function noteRefusedTurn(turn: RefusedTurn, at: number): UserMessage {
  const people = new Set(turn.asked.map(({ author }) => plainName(author.name)));
  const tools = new Set(turn.calls.map(({ call }) => call.name));
  const ran = tools.size === 0 ? "" : ` These tools were used: ${[...tools].join(", ")}.`;
  const text = `(Left out here: what was asked by ${[...people].join(", ")}, and the work on it. The model's service refused it.${ran})`;
  return { role: "user", id: `${turn.id}:refused`, author: heddle, text, at };
}

/** Takes the place of a record that cannot be read, so that what follows is still an answer to something. */
export const unreadableNote: UserMessage = {
  role: "user",
  id: "unreadable",
  author: heddle,
  text: "(A part of the conversation cannot be read and is left out here.)",
  at: 0,
};
