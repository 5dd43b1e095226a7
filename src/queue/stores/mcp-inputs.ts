import type { Redis } from "ioredis";
import type { z } from "zod";
import type { InputStore } from "../../agent/contracts/input-store.ts";
import { inputRequestSchema } from "../../agent/journal/question-schemas.ts";
import { inputAnswerSchema } from "../../agent/server-input.ts";
import { parseJson } from "../../agent/text/text.ts";
import { daySeconds, keys } from "../redis/keys.ts";

/** An answer counts for the call that follows it, not for one of another day, seconds. */
const answerSeconds = 3_600;
/** Longer than a question to people stays open by default, seconds. */
const questionSeconds = 7 * daySeconds;

/** Keeps what MCP servers ask people, and the answers, in Redis. */
export function createInputStore(redis: Redis): InputStore {
  const read = <T>(schema: z.ZodType<T>, json: string | null): T | undefined =>
    schema.safeParse(parseJson(json ?? "")).data;
  return {
    async keep(person, id, request) {
      await redis.set(keys.mcpInput(person, id), JSON.stringify(request), "EX", questionSeconds);
    },
    async find(person, id) {
      return read(inputRequestSchema, await redis.get(keys.mcpInput(person, id)));
    },
    async answer(person, id, answer) {
      await redis.set(keys.mcpAnswer(person, id), JSON.stringify(answer), "EX", answerSeconds);
    },
    async take(person, id) {
      return read(inputAnswerSchema, await redis.getdel(keys.mcpAnswer(person, id)));
    },
  };
}
