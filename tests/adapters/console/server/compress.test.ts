/** Long answers of the API go compressed to whoever takes that; what is live waits for nothing. */
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { buffer } from "node:stream/consumers";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { compressReply } from "../../../../src/adapters/console/server/compress.ts";
import { replyDownload, replyJson } from "../../../../src/adapters/console/server/http.ts";
import { announceSession } from "../../../../src/queue/outbox/live-events.ts";
import { write } from "../sessions.ts";
import { startConsole, type TestConsole } from "../start-console.ts";

let console: TestConsole;
beforeAll(async () => {
  console = await startConsole();
  const redis = console.redis.client();
  for (let n = 0; n < 60; n += 1) await write(redis, `slack:T1:C1:${n}.0`, `Count to ${n} Straße`);
});
afterAll(() => console[Symbol.asyncDispose]());

async function ask(path: string, accepted: string, method = "GET"): Promise<IncomingMessage> {
  const asked = request(`${console.url}${path}`, { method, headers: { "accept-encoding": accepted } });
  asked.end();
  const [answer]: [IncomingMessage] = await once(asked, "response").then(([first]) => [first]);
  return answer;
}

describe("an answer of the API", () => {
  test("is the same compressed as it is plain, and says how it is sent", async () => {
    const plain = await ask("/api/v1/sessions", "identity");
    expect(plain.headers["content-encoding"]).toBeUndefined();
    expect(plain.headers.vary).toBe("accept-encoding");
    const text = await buffer(plain);
    expect(JSON.parse(text.toString())).toMatchObject({ found: 60 });
    for (const [encoding, unpack] of [
      ["br", brotliDecompressSync],
      ["gzip", gunzipSync],
    ] as const) {
      const packed = await ask("/api/v1/sessions", encoding);
      const body = await buffer(packed);
      // It is stored nowhere, and so has no tag that would stand for one of its forms.
      expect(packed.headers).toMatchObject({ vary: "accept-encoding", "cache-control": "no-store" });
      expect(packed.headers.etag).toBeUndefined();
      expect([packed.headers["content-encoding"], unpack(body).equals(text)]).toEqual([encoding, true]);
      expect(Number(packed.headers["content-length"])).toBe(body.length);
      expect(body.length).toBeLessThan(text.length / 5);
    }
  });

  test("tells HEAD the length that GET has, compressed or not", async () => {
    for (const accepted of ["gzip", "br", "identity"]) {
      const [get, head] = [
        await ask("/api/v1/sessions", accepted),
        await ask("/api/v1/sessions", accepted, "HEAD"),
      ];
      const { date: _, ...headers } = get.headers;
      expect(head.headers).toMatchObject(headers);
      expect([(await buffer(get)).length, (await buffer(head)).length]).toEqual([
        ...[Number(get.headers["content-length"]), 0],
      ]);
    }
  });

  test("that is short goes as it is, but caches are told that others do not", async () => {
    const reply = replyJson(200, { fine: true });
    const sent = await compressReply(reply, "br, gzip");
    expect(sent).toEqual({ ...reply, headers: { ...reply.headers, vary: "accept-encoding" } });
  });

  test.each([
    ["gzip, deflate, br, zstd", "br"],
    ["gzip", "gzip"],
    ["GZIP;q=0.5", "gzip"],
    ["br;q=0.4, gzip;q=0.8", "gzip"],
    ["br;q=0, gzip", "gzip"],
    ["*", "br"],
    ["*;q=0.5, br;q=0", "gzip"],
    ["identity, gzip;q=0.5", undefined],
    ["gzip;q=0, br;q=0.0", undefined],
    ["gzip;q=nonsense", undefined],
    ["deflate, zstd", undefined],
    ["", undefined],
    [undefined, undefined],
  ])("to whoever takes %o goes as %s", async (accepted, encoding) => {
    const { headers } = await compressReply(replyJson(200, "word ".repeat(2_000)), accepted);
    expect(headers?.["content-encoding"]).toBe(encoding);
  });

  test("that is a file of a thread goes as it is", async () => {
    const reply = replyDownload("log.txt", Buffer.alloc(50_000, "a"));
    expect(await compressReply(reply, "gzip")).toBe(reply);
  });
});

test("A stream is not compressed, and each of its events comes when it happens", async () => {
  const stream = await ask("/api/v1/sessions/events", "br, gzip");
  expect(stream.headers["content-encoding"]).toBeUndefined();
  let text = "";
  stream.setEncoding("utf8").on("data", (part: string) => (text += part));
  const lists = () => text.split("event: sessions").length - 1;
  await expect.poll(lists).toBeGreaterThan(0);
  const before = lists();
  const redis = console.redis.client();
  await write(redis, "slack:T1:C1:500.0", "Something small");
  announceSession(redis, "slack:T1:C1:500.0", () => {});
  await expect.poll(lists, { timeout: 10_000 }).toBeGreaterThan(before);
  await expect.poll(() => text).toContain("Something small");
  stream.destroy();
});
