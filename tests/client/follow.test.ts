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

test("following goes on behind a proxy, which ends the stream in good order and says 502 while the gateway starts again", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const entries = (id: number) => `event: entries\nid: ${id}\ndata: {"entries":[]}\n\n`;
  const line = (state: string) => `event: line\ndata: {"state":"${state}"}\n\n`;
  const answers = [
    new Response(entries(3) + line("idle") + entries(5)),
    new Response("<h1>502 Bad Gateway</h1>", { status: 502 }),
    new Response("", { status: 504 }),
    new Response(line("running")),
    new Response(entries(7) + line("idle")),
  ];
  const asked: string[] = [];
  const heddle = new HeddleClient({
    url: "http://127.0.0.1:8420",
    fetch: async (address) => {
      asked.push(address instanceof URL ? (address.searchParams.get("from") ?? "") : "");
      return answers.shift() ?? new Response("", { status: 404 });
    },
  });
  const ids: unknown[] = [];
  const following = (async () => {
    for await (const event of heddle.follow("abc"))
      ids.push(event.event === "entries" ? event.id : event.event);
  })();
  await vi.advanceTimersByTimeAsync(60_000);
  await following;
  expect(ids).toEqual([3, "line", 5, "line", 7, "line"]);
  expect(asked).toEqual(["0", "5", "5", "5", "5"]);
});

test("following opens a connection anew on which a gateway has gone silent", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const line = (state: string) => `event: line\ndata: {"state":"${state}"}\n\n`;
  // The first goes silent; the second has nothing but the beats of an idle stream for a while.
  const connections = [
    [line("running")],
    [line("running"), ...Array.from({ length: 9 }, () => ":\n\n"), line("idle"), "end"],
  ];
  const openedAt: number[] = [];
  const answer = async (_address: unknown, { signal }: RequestInit = {}) => {
    const chunks = connections[openedAt.length] ?? [];
    openedAt.push(Date.now());
    const body = new ReadableStream({
      async pull(stream) {
        const chunk = chunks.shift();
        if (chunk === undefined) {
          signal?.addEventListener("abort", () => stream.error(signal.reason));
          return await new Promise(() => {});
        }
        await new Promise((resolve) => setTimeout(resolve, 20_000));
        if (chunk === "end") stream.close();
        else stream.enqueue(new TextEncoder().encode(chunk));
      },
    });
    return new Response(body);
  };
  const heddle = new HeddleClient({ url: "http://127.0.0.1:8420", fetch: answer });
  const states: unknown[] = [];
  const following = (async () => {
    for await (const event of heddle.follow("abc")) states.push(event.event === "line" && event.line?.state);
  })();
  await vi.advanceTimersByTimeAsync(600_000);
  await following;
  expect(states).toEqual(["running", "running", "idle"]);
  expect(openedAt.map((at) => at - (openedAt[0] ?? 0))).toEqual([0, 81_000]);
});
