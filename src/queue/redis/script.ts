import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import type { Redis } from "ioredis";
import { type Failpoint, failpoint } from "./failpoint.ts";

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

/**
 * Reads a script; the name of its file is also its failpoint. What several scripts share stands in `includes/`: the line
 * `-- @include time` is replaced by `includes/time.lua`, whose functions the script may use from there on.
 *
 * @example const deliverScript = loadScript(new URL("scripts/deliver.lua", import.meta.url));
 */
export function loadScript(file: URL): Script {
  const lua = readFileSync(file, "utf8").replaceAll(/^-- @include ([\w-]+)$/gm, (_line, name: string) =>
    readFileSync(new URL(`includes/${name}.lua`, import.meta.url), "utf8").trimEnd(),
  );
  const sha = createHash("sha1").update(lua).digest("hex");
  // The fault suite goes through all of them: tests/faults/points.test.ts.
  const name = basename(file.pathname, ".lua") as Failpoint;
  return {
    run: (redis, scriptKeys, args) =>
      failpoint(name, async () => {
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
