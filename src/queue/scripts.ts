import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Redis } from "ioredis";
import { type FaultPoint, faultPoint } from "./fault.ts";

/** A Lua script that Redis runs atomically. Its file's header lists keys, arguments and outputs. */
export interface Script {
  run(redis: Redis, scriptKeys: readonly string[], args: readonly (string | number)[]): Promise<unknown>;
}

/**
 * JSON that a script may decode. Half a surrogate pair, which a name that was cut may end with, is replaced: Redis
 * takes no such text, and one message that it cannot decode would close its thread for ever.
 */
export function scriptJson(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) =>
    typeof member === "string" ? member.toWellFormed() : member,
  );
}

function script(name: FaultPoint): Script {
  const lua = readFileSync(new URL(`./scripts/${name}.lua`, import.meta.url), "utf8");
  const sha = createHash("sha1").update(lua).digest("hex");
  return {
    run: (redis, scriptKeys, args) =>
      faultPoint(name, async () => {
        try {
          return await redis.evalsha(sha, scriptKeys.length, ...scriptKeys, ...args);
        } catch (error) {
          // A restarted server has an empty script cache.
          if (!(error instanceof Error) || !error.message.startsWith("NOSCRIPT")) throw error;
          return await redis.eval(lua, scriptKeys.length, ...scriptKeys, ...args);
        }
      }),
  };
}

export const scripts = {
  deliver: script("deliver"),
  overhear: script("overhear"),
  claim: script("claim"),
  append: script("append"),
  take: script("take"),
  stop: script("stop"),
  edit: script("edit"),
  delete: script("delete"),
  enter: script("enter"),
  rest: script("rest"),
  decide: script("decide"),
  mark: script("mark"),
  permit: script("permit"),
  pause: script("pause"),
  audit: script("audit"),
  reserve: script("reserve"),
  book: script("book"),
} as const;
