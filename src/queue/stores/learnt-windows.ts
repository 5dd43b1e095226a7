import { createHash } from "node:crypto";
import type { Redis } from "ioredis";
import { type LearntWindow, learntWindowSchema, refusalMs } from "../../agent/contracts/learnt-window.ts";
import { createStoredParser } from "../../agent/text/parse-stored.ts";
import { keys } from "../redis/keys.ts";
import { readStored } from "../redis/unreadable.ts";

/** What all processes know of models' windows, by the model's id. */
export interface LearntWindowStore {
  read(): Promise<Map<string, LearntWindow>>;
  /** Undefined: nothing is known any more. */
  write(model: string, known: LearntWindow | undefined): Promise<void>;
}

const parseLearnt = createStoredParser(learntWindowSchema);

/**
 * Keeps it in Redis, for each model at its address: the same one elsewhere has another window.
 *
 * @param addressOf the service behind a model's id; undefined is its provider's own
 */
export function createLearntWindowStore(
  redis: Redis,
  addressOf: (model: string) => string | undefined,
): LearntWindowStore {
  const fieldOf = (model: string) => {
    const address = addressOf(model);
    if (address === undefined) return model;
    // It may have a password in it.
    return `${model}@${createHash("sha256").update(address).digest("hex").slice(0, 16)}`;
  };
  return {
    async read() {
      const known = new Map<string, LearntWindow>();
      for (const [field, json] of Object.entries(await redis.hgetall(keys.learntWindows))) {
        const model = field.replace(/@[0-9a-f]{16}$/, "");
        if (fieldOf(model) !== field) continue;
        const one = readStored(redis, parseLearnt, json, `What was learnt of the window of ${model}`);
        if (one) known.set(model, one);
      }
      return known;
    },
    async write(model, known) {
      if (!known) return void (await redis.hdel(keys.learntWindows, fieldOf(model)));
      const transaction = redis.multi().hset(keys.learntWindows, fieldOf(model), JSON.stringify(known));
      await transaction.pexpire(keys.learntWindows, 2 * refusalMs).exec();
    },
  };
}
