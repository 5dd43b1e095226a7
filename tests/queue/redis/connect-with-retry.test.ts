import { expect, test } from "vitest";
import { connectWithRetry } from "../../../src/queue/redis/connect-with-retry.ts";

/** Keeps the event loop from everything else, as a process does that starts on a slow machine. */
function computeFor(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end) void 0;
}

test("A refusal that arrived while the process was busy is named, and ends the wait in its shorter time", async () => {
  const said: string[] = [];
  const log = { info: (line: string) => said.push(line), warn: (line: string) => said.push(line) };
  const link = connectWithRetry(
    { options: { host: "127.0.0.1", port: 1 } },
    { patienceMs: 60_000, refusedMs: 1_100, mayBeLate: true, log },
  );
  computeFor(1_300);
  expect(await link).toEqual({ ok: false, cause: "connect ECONNREFUSED 127.0.0.1:1" });
  expect(said).toEqual([
    "Redis does not answer yet (connect ECONNREFUSED 127.0.0.1:1); waiting for up to 1.1 s.",
  ]);
});
