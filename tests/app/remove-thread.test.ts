import { afterAll, beforeAll, expect, test } from "vitest";
import { Conversations } from "../../src/adapters/console/conversations/conversations.ts";
import { openThreadRemoval } from "../../src/app/remove-thread.ts";
import { heddle } from "../../src/agent/messages.ts";
import { begin, end, usageOf, write } from "../adapters/console/sessions.ts";
import { startRedis, type TestRedis } from "../fakes/redis.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

test("What was said goes with a thread whose files cannot be removed yet", async () => {
  const redis = server.client();
  const [id, thread] = ["abcdefgh12345678", "local:console:main:abcdefgh12345678"];
  await write(redis, thread, "Paint the fence");
  await end(await begin(redis, thread), { kind: "answered", text: "Done.", steps: 0, usage: usageOf(0) });
  await new Conversations(redis, Date.now).add(id, "said 1", {
    kind: "person",
    name: "ada",
    text: "Paint it",
  });
  const noted: unknown[] = [];
  const remove = openThreadRemoval({
    redis,
    // A host whose sandbox does not work cannot look for files.
    sandbox: { backend: { workspaces: () => Promise.reject(new Error("no sandbox")) } },
    telemetry: { audit: (event: unknown) => noted.push(event) },
    log: { warn: () => {} },
  } as never);
  expect(await remove(thread, heddle)).toEqual({
    isDeleted: true,
    note: expect.stringContaining("The thread is deleted; its files go"),
  });
  expect((await redis.keys("*")).filter((key) => key.includes(id))).toEqual([]);
  expect(noted).toMatchObject([{ action: "thread-deleted", thread }]);
});
