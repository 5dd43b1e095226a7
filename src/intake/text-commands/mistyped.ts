import type { CommandReader, Saying } from "./command-reader.ts";

/** How a command is written that takes something behind it, and was given what it cannot take. */
const hints: Readonly<Record<string, string>> = {
  undo: "`!undo` goes back to before the last turn, `!undo 3` three turns; 99 is the most.",
  redo: "`!redo`, with nothing behind it, takes the last undo back.",
  fork: "`!fork` begins a new thread from here, `!fork 2` from before the last two turns; 99 is the most.",
  schedules: "`!schedules`, with nothing behind it, lists what is planned here.",
  unschedule: "`!unschedule <id>` cancels what is planned; `!schedules` lists it with the ids.",
  queue:
    "`!queue` lists what waits here with its ids; `!queue remove m7`, `!queue first m7`, `!queue last m7` and `!queue move m7 to 2` change it.",
  notify:
    "`!notify on`, `!notify off` and `!notify default` say whether I mention you when something has ended.",
  approvals: "`!approvals` lists what is approved for this thread, `!approvals clear` takes it back.",
  disconnect: "`!disconnect` lists the accounts that you have connected, `!disconnect <name>` ends one.",
  model: "`!model` tells which model answers, `!model <name> [effort]` chooses another.",
  skill: "`!skill` lists the skills, `!skill <name>` chooses one, `!skill none` takes that back.",
};

/** Commands that stand alone. */
const bare = ["help", "status", "quiet", "normal", "full"];

/** Of these something else is said where they are incomplete, or what stands behind them is a task. */
const others = ["stop", "continue", "compact", "plan", "prompt", "allow", "deny", "people", "channel"];

const names = [...Object.keys(hints), ...bare, ...others];

/** Whoever writes more words behind a command means a task. */
const most = { arguments: 4, behindBare: 1 };

/**
 * What to say to a message that is nearly a text command: one that cannot be carried out as it is written (`!undo 0`), or
 * one word that is one slip away from a command (`!hlep`). Undefined for tasks, of which some begin with the sign too
 * (`!important: look at this`).
 */
export function explainMistyped(text: string): string | undefined {
  const [, sign, written = "", rest = ""] = /^([/!])([a-z]+)(?:[^\S\n]+(\S.*))?$/i.exec(text.trim()) ?? [];
  const name = written.toLowerCase();
  const count = rest.split(/\s+/).filter(Boolean).length;
  const hint = Object.hasOwn(hints, name) ? hints[name] : undefined;
  if (hint !== undefined) return count <= most.arguments ? hint : undefined;
  if (bare.includes(name))
    return count === most.behindBare ? `\`!${name}\` is a command with nothing behind it.` : undefined;
  // A path begins with a slash as well.
  if (sign !== "!" || count > 0 || others.includes(name)) return undefined;
  const near = names.filter((known) => isOneSlipAway(name, known)).map((known) => `\`!${known}\``);
  return near.length === 0
    ? undefined
    : `There is no command \`!${name}\`: did you mean ${near.join(" or ")}? If it is a task, write it without the \`!\`.`;
}

/** Whether one letter is wrong, missing or too many, or two are swapped. */
function isOneSlipAway(one: string, other: string): boolean {
  let from = 0;
  while (from < one.length && one[from] === other[from]) from += 1;
  let behind = 0;
  const shared = Math.min(one.length, other.length) - from;
  while (behind < shared && one.at(-1 - behind) === other.at(-1 - behind)) behind += 1;
  const [left, right] = [one, other].map((word) => word.slice(from, word.length - behind));
  if (left === undefined || right === undefined || left === right) return false;
  return left.length <= 1 ? right.length <= 1 : right.length === 2 && left === `${right[1]}${right[0]}`;
}

/** Answers what is nearly a command; to be asked when no other reader has taken the message. */
export function createMistypedReader({ refuse }: Pick<Saying, "refuse">): CommandReader {
  return (event) => {
    const why = explainMistyped(event.text);
    return why === undefined ? undefined : () => refuse(event, why);
  };
}
