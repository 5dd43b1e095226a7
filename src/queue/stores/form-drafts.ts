import type { Redis } from "ioredis";
import { type WrittenFields, writtenFieldsSchema } from "../../agent/server-input.ts";
import { parseJson } from "../../agent/text/text.ts";
import type { ThreadId } from "../../chat/threads.ts";
import { keys } from "../redis/keys.ts";

/** What a person has put into the parts of a form that are filled in one after the other, until the last one comes. */
export interface FormDrafts {
  read(thread: ThreadId, question: string): Promise<WrittenFields>;
  /** @param until when nobody can answer any more, ms since the epoch */
  keep(thread: ThreadId, question: string, written: WrittenFields, until: number): Promise<void>;
  drop(thread: ThreadId, question: string): Promise<void>;
}

export function createFormDrafts(redis: Redis): FormDrafts {
  return {
    async read(thread, question) {
      const stored = await redis.get(keys.formDraft(thread, question));
      return writtenFieldsSchema.safeParse(parseJson(stored ?? "")).data ?? {};
    },
    async keep(thread, question, written, until) {
      await redis.set(keys.formDraft(thread, question), JSON.stringify(written), "PXAT", until);
    },
    async drop(thread, question) {
      await redis.del(keys.formDraft(thread, question));
    },
  };
}
