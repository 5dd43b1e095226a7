import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { createBrotliCompress, createDeflate, createGzip, createZstdCompress, gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { readServerSentEvents } from "../../../src/agent/llm/server-sent-events.ts";
import { streamFetch } from "../../../src/agent/llm/stream-fetch.ts";
import { readNetworkCode } from "../../../src/agent/network/network-code.ts";
import { freePort } from "../../fakes/free-port.ts";
import { listenForTest } from "../../fakes/listen-for-test.ts";

const serve = (answer: (request: IncomingMessage, response: ServerResponse) => unknown) =>
  listenForTest(createServer((request, response) => void answer(request, response)));

const post = (url: string, init: RequestInit = {}) =>
  streamFetch(url, { method: "post", body: "{}", headers: { "x-own": "1" }, ...init });

async function collect(response: Response): Promise<string[]> {
  const got: string[] = [];
  for await (const { data } of readServerSentEvents(response)) got.push(data);
  return got;
}

test("A stream of events arrives as the service sends it, not compressed", async () => {
  const url = await serve(async (request, response) => {
    const { "x-own": own, "accept-encoding": encoding } = request.headers;
    response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8", "x-request-id": "r1" });
    response.write(
      `data: ${String(own)} ${String(encoding)} ${request.method} ${await text(request)}\n\ndata: ü`,
    );
    setTimeout(() => response.end("ber\n\n"), 20);
  });
  const response = await post(url);
  expect([response.ok, response.status, response.headers.get("x-request-id")]).toEqual([true, 200, "r1"]);
  expect(await collect(response)).toEqual(["1 identity POST {}", "über"]);
});

test("Any other answer is a response like that of fetch", async () => {
  const url = await serve((request, response) => {
    if (request.url === "/none") return response.writeHead(204).end();
    return response
      .writeHead(429, {
        "content-type": "application/json",
        "retry-after": "7",
        "set-cookie": ["a=1", "b=2"],
      })
      .end('{"error":"slow down"}');
  });
  const response = await post(url);
  expect([response.ok, response.status, response.headers.get("retry-after")]).toEqual([false, 429, "7"]);
  expect(response.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
  expect(await response.json()).toEqual({ error: "slow down" });
  expect(await (await post(`${url}/none`)).text()).toBe("");
});

test("A service that has moved is followed with the request", async () => {
  const url = await serve(async (request, response) => {
    if (request.url !== "/new") return response.writeHead(307, { location: "/new" }).end();
    response.writeHead(200, { "content-type": "text/event-stream" });
    return response.end(`data: ${await text(request)}\n\n`);
  });
  expect(await collect(await post(`${url}/old`))).toEqual(["{}"]);
});

test("A service that has moved is followed although its own answer never ends", async () => {
  const closed = Promise.withResolvers<void>();
  const url = await serve((request, response) => {
    if (request.url === "/new") return response.writeHead(200).end("here");
    response.on("close", () => closed.resolve());
    return response.writeHead(308, { location: "/new" }).write("more follows");
  });
  expect(await (await post(`${url}/old`)).text()).toBe("here");
  await closed.promise;
});

test.each([
  ["gzip", createGzip],
  ["deflate", createDeflate],
  ["br", createBrotliCompress],
  ["zstd", createZstdCompress],
])(
  "What a gateway compresses by %s although asked not to is read as it arrives",
  async (encoding, create) => {
    const wasRead = Promise.withResolvers<void>();
    const url = await serve(async (request, response) => {
      const isStream = request.url === "/stream";
      const type = isStream ? "text/event-stream" : "application/json";
      response.writeHead(isStream ? 200 : 400, { "content-type": type, "content-encoding": encoding });
      const compressed = create();
      compressed.pipe(response);
      if (!isStream) return compressed.end('{"error":"no"}');
      compressed.write("data: 1\n\n");
      compressed.flush();
      await wasRead.promise;
      return compressed.end("data: 2\n\n");
    });
    expect(await (await post(`${url}/refused`)).json()).toEqual({ error: "no" });
    const got: string[] = [];
    for await (const { data } of readServerSentEvents(await post(`${url}/stream`))) {
      got.push(data);
      wasRead.resolve();
    }
    expect(got).toEqual(["1", "2"]);
  },
);

test("A compressed stream that breaks off is told as one that is not", async () => {
  const url = await serve((_request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream", "content-encoding": "gzip" });
    response.write(gzipSync("data: 1\n\n").subarray(0, 20));
    setTimeout(() => response.destroy(), 20);
  });
  const broken = await collect(await post(url)).catch((error: unknown) => error);
  expect(broken).toBeInstanceOf(TypeError);
  expect(readNetworkCode(broken)).toBe("UND_ERR_SOCKET");
});

test("What cannot be reached, and what breaks off, is told as fetch tells it", async () => {
  const refused = await post(`http://127.0.0.1:${await freePort()}`).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(TypeError);
  expect(readNetworkCode(refused)).toBe("ECONNREFUSED");

  const url = await serve((_request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write("data: 1\n\n");
    setTimeout(() => response.destroy(), 20);
  });
  const broken = await collect(await post(url)).catch((error: unknown) => error);
  expect(broken).toBeInstanceOf(TypeError);
  expect(readNetworkCode(broken)).toBe("UND_ERR_SOCKET");
});

test("An abort ends the wait for an answer with its reason, and the stream with it", async () => {
  const closed: string[] = [];
  const reason = new Error("Stopped.");
  const waiting = new AbortController();
  const url = await serve((request, response) => {
    response.on("close", () => closed.push(request.url ?? ""));
    if (request.url === "/silent") return waiting.abort(reason);
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write("data: 1\n\n");
  });
  const silent = post(`${url}/silent`, { signal: waiting.signal });
  await expect(silent).rejects.toBe(reason);

  const reading = new AbortController();
  const stream = collect(await post(`${url}/stream`, { signal: reading.signal }));
  reading.abort(reason);
  await expect(stream).rejects.toThrow();
  await expect.poll(() => closed.toSorted()).toEqual(["/silent", "/stream"]);

  await expect(post(url, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
});
