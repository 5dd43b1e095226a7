/** A fact that the agent was asked to keep. */
export interface Note {
  id: string;
  category: string;
  text: string;
  /** Who was speaking when it was recorded. */
  author: string;
  /** Milliseconds since the epoch. */
  at: number;
}

/**
 * Where notes live. The agent knows no database: whoever runs it hands one in, and decides by that whose notes
 * these are (a thread's, a person's, a channel's).
 */
export interface NoteStore {
  add(note: { category: string; text: string }): Promise<Note>;
  /** Oldest first. */
  list(): Promise<Note[]>;
  /** False when there is no such note. */
  remove(id: string): Promise<boolean>;
}
