import { expect, onTestFinished, test, vi } from "vitest";
import { HeddleClient } from "../../src/client/index.ts";

test("following outlasts the restart of a gateway, and tells of one that does not come back", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const clientThatWaits = (backAfterMs: number) => {
    const back = Date.now() + backAfterMs;
    const answer = async () => {
      if (Date.now() < back) throw new TypeError("fetch failed");
      return new Response('event: line\ndata: {"state":"idle"}\n\n');
    };
    return new HeddleClient({ url: "http://127.0.0.1:8420", fetch: answer });
  };
  const follow = async (client: HeddleClient) => {
    const events = [];
    for await (const event of client.follow("abc")) events.push(event);
    return events;
  };
  const restarted = follow(clientThatWaits(25_000));
  const gone = expect(follow(clientThatWaits(3_600_000))).rejects.toThrow("fetch failed");
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await restarted).toEqual([{ event: "line", line: { state: "idle" } }]);
  await gone;
});
