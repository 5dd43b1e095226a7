import { randomUUID } from "node:crypto";
import type { Redis } from "ioredis";
import type { ThreadId } from "../adapters/adapter.ts";
import type { Note, NoteStore } from "../agent/tools/notes.ts";
import { keys } from "./keys.ts";

/** The notes of a thread, in Redis. One entry a note, so that two writers never overwrite each other. */
export function redisNotes(redis: Redis, thread: ThreadId): NoteStore {
  const key = keys.notes(thread);
  return {
    async add({ category, text }) {
      const note: Note = { id: randomUUID().slice(0, 8), category, text, author: "", at: Date.now() };
      await redis.rpush(key, JSON.stringify(note));
      return note;
    },
    async list() {
      return (await redis.lrange(key, 0, -1)).map((entry) => JSON.parse(entry) as Note);
    },
    async remove(id) {
      const entries = await redis.lrange(key, 0, -1);
      const entry = entries.find((candidate) => (JSON.parse(candidate) as Note).id === id);
      return entry !== undefined && (await redis.lrem(key, 1, entry)) === 1;
    },
  };
}
