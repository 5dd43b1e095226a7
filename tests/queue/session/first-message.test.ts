import type { Redis } from "ioredis";
import { expect, test } from "vitest";
import { readFirstMessage } from "../../../src/queue/session/journal/journal.ts";
import { begin, write } from "../../adapters/console/sessions.ts";
import { startRedis } from "../../fakes/redis.ts";

test("The message that a thread begins with is found while a turn takes it", async () => {
  const server = await startRedis();
  try {
    const [redis, worker] = [server.client(), server.client()];
    const thread = "local:console:main:abcdefgh12345678";
    await write(redis, thread, "Paint the fence");
    let takes = 0;
    /** Between what the reader asks for and what it asks for next, the turn begins. */
    const interrupted = new Proxy(redis, {
      get(target, name) {
        if (name !== "lrange") return Reflect.get(target, name, target);
        return async (...args: Parameters<Redis["lrange"]>) => {
          const found = await target.lrange(...args);
          if ((takes += 1) === 1) await begin(worker, thread);
          return found;
        };
      },
    });
    expect(await readFirstMessage(interrupted, thread)).toMatchObject({ text: "Paint the fence" });
    expect(await readFirstMessage(interrupted, thread)).toMatchObject({ text: "Paint the fence" });
    expect(takes).toBe(2);
  } finally {
    await server.stop();
  }
});
