import { gzipSync } from "node:zlib";
import { createServer, type ServerResponse } from "node:http";
import { createServer as createSocketServer } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { AnswerTooLarge, boundAnswer, boundEvents } from "../../../src/agent/network/bounded-answer.ts";
import { fetchWithLimits } from "../../../src/agent/mcp/transport/http.ts";
import { listTools, poolOf } from "./harness.ts";
import { listen } from "../../fakes/listen.ts";
import { listenForTest } from "../../fakes/listen-for-test.ts";

const stream = { headers: { "content-type": "text/event-stream; charset=utf-8" } };

async function serve(respond: (response: ServerResponse) => void): Promise<string> {
  const server = createServer((_, response) => respond(response));
  return `${await listenForTest(server)}/`;
}

/** Sends as fast as it is read, without an end. */
function flood(response: ServerResponse, type: string, { status = 200, of = "x" } = {}): void {
  response.writeHead(status, { "content-type": type });
  const piece = Buffer.alloc(65_536, of);
  const more = () => {
    while (!response.destroyed) if (!response.write(piece)) return void response.once("drain", more);
  };
  response.write("data: ");
  more();
}

test("An answer up to the limit comes whole, a longer one not at all", async () => {
  expect(await boundAnswer(new Response("12345"), 5).text()).toBe("12345");
  await expect(boundAnswer(new Response("123456"), 5).text()).rejects.toThrow(AnswerTooLarge);
});

test.each([
  ["404 Página não encontrada", 404, "P?gina n?o encontrada"],
  ["404 見つかりません", 404, "?"],
  ["999 Request denied", 599, "Request denied"],
])("An answer of status %s comes whole too", async (line, status, reason) => {
  const server = createSocketServer((socket) => {
    socket.on("error", () => undefined);
    // As such servers do, each letter a byte, where it is one.
    const head = Buffer.from(`HTTP/1.1 ${line}\r\n`, line.includes("ã") ? "latin1" : "utf8");
    socket.once("data", () =>
      socket.end(Buffer.concat([head, Buffer.from("content-length: 5\r\n\r\n12345")])),
    );
  });
  const address = `http://127.0.0.1:${await listen(server)}/`;
  onTestFinished(() => void server.close());
  for (const limited of [
    boundAnswer(await fetch(address), 100),
    await fetchWithLimits(fetch, 10_000)(address, {}),
  ]) {
    expect([limited.status, limited.statusText.replaceAll(/\?+/g, "?")]).toEqual([status, reason]);
    expect(await limited.text()).toBe("12345");
  }
});

test.each(["\n", "\r", "\r\n"])(
  "On a stream with line ends %j each event has the limit to itself",
  async (end) => {
    const event = `data: 12345${end}${end}`;
    const whole = event.repeat(50);
    expect(await boundEvents(new Response(whole, stream), event.length).text()).toBe(whole);
    const long = `${whole}data: 123456${end}${end}`;
    await expect(boundEvents(new Response(long, stream), event.length).text()).rejects.toThrow(
      AnswerTooLarge,
    );
  },
);

test("What is read whole has one limit, also where it calls itself a stream of events", async () => {
  const blank = "\n".repeat(20);
  await expect(boundAnswer(new Response(blank, stream), 10).text()).rejects.toThrow(AnswerTooLarge);
  const failure = new Response(blank, { ...stream, status: 500 });
  await expect(boundEvents(failure, 10).text()).rejects.toThrow(AnswerTooLarge);
  const other = new Response(blank, { headers: { "content-type": "application/json; a=text/event-stream" } });
  await expect(boundEvents(other, 10).text()).rejects.toThrow(AnswerTooLarge);
});

test("What a small answer unpacks to counts", async () => {
  const url = await serve((response) =>
    response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(Buffer.alloc(4_000_000))),
  );
  const answer = await fetchWithLimits(fetch, 60_000, { answerBytes: 100_000 })(url);
  await expect(answer.text()).rejects.toThrow(AnswerTooLarge);
});

test.each([
  ["http", "application/json"],
  ["http", "text/event-stream"],
  ["sse", "text/event-stream"],
] as const)(
  "A server over %s whose answer (%s) never ends costs only its own tools",
  async (type, answer) => {
    const url = await serve((response) => flood(response, answer));
    const pool = await poolOf({ web: { url, type } });
    expect(await listTools(pool)).toEqual([]);
    const [status] = pool.status();
    expect(status).toMatchObject({ state: "failed" });
    expect(status?.problem).not.toContain("no answer within");
  },
);

test.each(["http", "sse"] as const)(
  "A server over %s that says its failure as a stream of empty events does not fill the memory",
  async (type) => {
    let sent = 0;
    const url = await serve((response) => {
      flood(response, "text/event-stream", { status: 500, of: "\n" });
      response.on("close", () => (sent += response.socket?.bytesWritten ?? 0));
    });
    const pool = await poolOf({ web: { url, type } });
    expect(await listTools(pool)).toEqual([]);
    expect(pool.status()).toMatchObject([{ state: "failed" }]);
    expect(sent).toBeLessThan(200_000_000);
  },
);
