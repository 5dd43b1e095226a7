import { randomUUID } from "node:crypto";
import type { Redis } from "ioredis";
import { z } from "zod";
import type { Speaker } from "../../agent/messages.ts";
import { type Note, type NoteScope, noteScopes, type NoteStore } from "../../agent/contracts/note-store.ts";
import { parseThreadId, type ThreadId } from "../../chat/threads.ts";
import { keys } from "../redis/keys.ts";

export interface NotesOptions {
  redis: Redis;
  thread: ThreadId;
  /** Who takes part in the turn, the one who spoke last at the end. */
  speakers(): readonly Speaker[];
  now(): number;
  /** Told about an entry that cannot be read. It stays in its hash, under another name. */
  onProblem(problem: string, error: unknown): void;
}

const stored = z.object({
  id: z.string(),
  category: z.string(),
  text: z.string(),
  author: z.string(),
  at: z.number(),
});

/** Names entries that were set aside; no id begins so. */
const unreadable = "unreadable:";

/**
 * The notes of a thread, of its channel and of the people who speak in it: one hash an owner and one field a
 * note, so that two writers never overwrite each other. Those of a thread expire with its session.
 */
export function createRedisNotes({ redis, thread, speakers, now, onProblem }: NotesOptions): NoteStore {
  const { platform, workspace, channel } = parseThreadId(thread);
  const place = `${platform}:${workspace}`;

  /** The hashes of a scope: one, or one a speaker, the one of who speaks now first. */
  const hashesOf = (scope: NoteScope): string[] => {
    switch (scope) {
      case "thread":
        return [keys.notes(scope, thread)];
      case "channel":
        return [keys.notes(scope, `${place}:${channel}`)];
      case "user":
        return [
          ...new Set(
            speakers()
              .toReversed()
              .map(({ id }) => keys.notes(scope, `${place}:${id}`)),
          ),
        ];
    }
  };
  const hashes = () => noteScopes.flatMap((scope) => hashesOf(scope).map((key) => ({ scope, key })));
  const author = () => speakers().at(-1)?.name ?? "";

  const write = (key: string, note: Note) => redis.hset(key, note.id, JSON.stringify(note));

  const readAll = async (scope: NoteScope, key: string): Promise<Note[]> => {
    const notes: Note[] = [];
    for (const [field, entry] of Object.entries(await redis.hgetall(key))) {
      if (field.startsWith(unreadable)) continue;
      try {
        notes.push({ ...stored.parse(JSON.parse(entry)), scope });
      } catch (error) {
        onProblem(`A note cannot be read; it is kept as field ${unreadable}${field} of ${key}.`, error);
        await redis.multi().hset(key, `${unreadable}${field}`, entry).hdel(key, field).exec();
      }
    }
    return notes;
  };

  return {
    async add({ scope, category, text }) {
      const [key] = hashesOf(scope);
      if (!key) throw new Error("Nobody speaks in this turn, so there is no one to keep a note about.");
      const note: Note = { id: randomUUID().slice(0, 8), scope, category, text, author: author(), at: now() };
      await write(key, note);
      return note;
    },
    async list() {
      const lists = await Promise.all(hashes().map(({ scope, key }) => readAll(scope, key)));
      return lists.flat().toSorted((a, b) => a.at - b.at);
    },
    async update(id, { text, category }) {
      for (const { scope, key } of hashes()) {
        const note = (await readAll(scope, key)).find((candidate) => candidate.id === id);
        if (!note) continue;
        const changed = { ...note, text, category: category ?? note.category, author: author(), at: now() };
        await write(key, changed);
        return changed;
      }
      return undefined;
    },
    async remove(id) {
      if (id.startsWith(unreadable)) return false;
      const removed = await Promise.all(hashes().map(({ key }) => redis.hdel(key, id)));
      return removed.includes(1);
    },
  };
}
