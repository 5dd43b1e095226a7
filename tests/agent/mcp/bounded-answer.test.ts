import { gzipSync } from "node:zlib";
import { createServer, type ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { AnswerTooLarge, boundAnswer } from "../../../src/agent/network/bounded-answer.ts";
import { fetchWithLimits } from "../../../src/agent/mcp/transport/http.ts";
import { listTools, poolOf } from "./harness.ts";
import { listenForTest } from "../../fakes/listen-for-test.ts";

const stream = { headers: { "content-type": "text/event-stream; charset=utf-8" } };

async function serve(respond: (response: ServerResponse) => void): Promise<string> {
  const server = createServer((_, response) => respond(response));
  return `${await listenForTest(server)}/`;
}

/** Sends as fast as it is read, without an end. */
function flood(response: ServerResponse, type: string): void {
  response.writeHead(200, { "content-type": type });
  const piece = Buffer.alloc(65_536, "x");
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

test.each(["\n", "\r", "\r\n"])(
  "On a stream with line ends %j each event has the limit to itself",
  async (end) => {
    const event = `data: 12345${end}${end}`;
    const whole = event.repeat(50);
    expect(await boundAnswer(new Response(whole, stream), event.length).text()).toBe(whole);
    const long = `${whole}data: 123456${end}${end}`;
    await expect(boundAnswer(new Response(long, stream), event.length).text()).rejects.toThrow(
      AnswerTooLarge,
    );
  },
);

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
