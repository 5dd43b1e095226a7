/** A text command about turns that are over. `turns`: how many of the last ones. */
export type UndoCommand = { do: "undo" | "fork"; turns: number } | { do: "redo" };

/** The whole message must be `undo`, `!undo`, `!undo 3`, `!redo`, `!fork` or `!fork 3`. */
export function readUndoCommand(text: string): UndoCommand | undefined {
  const word = text.trim();
  if (/^[/!]redo$/i.test(word)) return { do: "redo" };
  if (/^undo[.!]?$/i.test(word)) return { do: "undo", turns: 1 };
  const [, name, turns] = /^[/!](undo|fork)(?:\s+([1-9]\d?))?$/i.exec(word) ?? [];
  if (name === undefined) return undefined;
  return name.toLowerCase() === "undo"
    ? { do: "undo", turns: Number(turns ?? 1) }
    : { do: "fork", turns: Number(turns ?? 0) };
}
