/** A fact that the agent was asked to keep. */
export interface Note {
  id: string;
  scope: NoteScope;
  category: string;
  text: string;
  /** Who was speaking when it was recorded or last changed. */
  author: string;
  /** When that was, in milliseconds since the epoch. */
  at: number;
}

/** Where a note is seen: in this thread, in every thread of its channel, or wherever this person speaks. */
export const noteScopes = ["thread", "channel", "user"] as const;
export type NoteScope = (typeof noteScopes)[number];

/**
 * Where notes live. The agent knows no database: whoever runs it hands one in, and decides by that which thread,
 * channel and person these are.
 */
export interface NoteStore {
  add(note: { scope: NoteScope; category: string; text: string }): Promise<Note>;
  /** Those of all scopes, oldest first. */
  list(): Promise<Note[]>;
  /** Undefined when there is no such note. */
  update(id: string, change: { category?: string | undefined; text: string }): Promise<Note | undefined>;
  /** False when there is no such note. */
  remove(id: string): Promise<boolean>;
}
