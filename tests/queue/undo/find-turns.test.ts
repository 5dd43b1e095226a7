import { afterAll, beforeAll, expect, test } from "vitest";
import { findLastTurns } from "../../../src/queue/undo/find-turns.ts";
import { begin, call, calling, resultOf, write } from "../../adapters/console/sessions.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

test("A call that has run counts also where a later one of the same id was denied", async () => {
  const redis = server.client();
  const thread = "slack:T1:C1:1.0";
  await write(redis, thread, "Publish it");
  const lease = await begin(redis, thread);
  const [run, denied] = [resultOf("c1", "bash", "Pushed."), resultOf("c1", "bash", "Denied.", "error")];
  await lease.append([
    ...[calling(1, [call("c1", "bash", { command: "git push" })]), run],
    calling(2, [call("c1", "bash", { command: "git push --force" })]),
    { ...denied, message: { ...denied.message, notRun: "denied" } },
  ]);
  const [turn] = await findLastTurns(redis, thread, { length: 6, undone: [], most: 1 });
  expect(turn?.calls).toMatchObject([{ name: "bash", input: { command: "git push" } }]);
});
