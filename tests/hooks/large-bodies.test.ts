import { connect } from "node:net";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createConsoleSurface } from "../../src/adapters/console/conversations/surface.ts";
import { triggersSchema } from "../../src/config/triggers.ts";
import { type Hooks, openHooks } from "../../src/hooks/server.ts";
import { createRateLimiter } from "../../src/queue/outbox/rate-limit.ts";
import { startRedis, type TestRedis } from "../fakes/redis.ts";

/** Bodies of webhooks that are too large or too deep: whoever sends one shall read why it was refused, and cost little. */

const trigger = {
  ...{ verify: "bearer", secretVariable: "SECRET", prompt: "Look at {{title}} in {{body}}." },
  ...{ channel: "local:console:main", onBehalfOf: { id: "U1", name: "Ada" } },
};
const secret = "a-secret-of-the-sender";
const mib = 1_048_576;

let [server, hooks]: [TestRedis?, Hooks?] = [];
beforeAll(async () => {
  server = await startRedis();
  const redis = server.client();
  const triggers = Object.entries(triggersSchema.parse({ t: trigger }));
  hooks = await openHooks({
    ...{ host: "127.0.0.1", port: 0, redis },
    triggers: new Map(triggers.map(([name, one]) => [name, { ...one, secret }])),
    queue: { wake: async () => {} },
    output: createRateLimiter(redis),
    surface: () => createConsoleSurface({ redis }),
    mayAsk: async () => ({ allowed: true }),
    confirm: (work) => work,
    now: Date.now,
    onProblem: () => {},
  });
});
afterAll(async () => {
  await hooks?.close();
  await server?.stop();
});

/** Sends a request as it is, to the end whatever is answered, and gives the answer's first line. */
async function send(head: string, parts: Iterable<Buffer>): Promise<{ answer: string; sent: number }> {
  const socket = connect(hooks?.port ?? 0, "127.0.0.1");
  const received: Buffer[] = [];
  socket.on("data", (part: Buffer) => void received.push(part));
  socket.on("error", () => {});
  const closed = new Promise((resolve) => socket.once("close", resolve));
  let sent = 0;
  socket.write(`POST /hooks/t HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${secret}\r\n${head}\r\n\r\n`);
  for (const part of parts) {
    if (socket.destroyed) break;
    sent += part.length;
    if (!socket.write(part)) await Promise.race([closed, new Promise((go) => socket.once("drain", go))]);
  }
  await closed;
  return { answer: Buffer.concat(received).toString().split("\r\n")[0] ?? "", sent };
}

const part = Buffer.alloc(65_536, 120);
const body = (bytes: number) => Array.from({ length: bytes / part.length }, () => part);
const chunk = Buffer.concat([Buffer.from("10000\r\n"), part, Buffer.from("\r\n")]);
const refused = "HTTP/1.1 413 Payload Too Large";

test.each([1.0625, 2, 20])("one of %d MiB is refused with words, once all of it was sent", async (size) => {
  const told = await send(`content-length: ${size * mib}`, body(size * mib));
  expect(told).toEqual({ answer: refused, sent: size * mib });
  const chunks = [...body(size * mib).map(() => chunk), Buffer.from("0\r\n\r\n")];
  expect((await send("transfer-encoding: chunked", chunks)).answer).toBe(refused);
});

test("one that says that it is larger than any sender's is refused before it is sent", async () => {
  expect((await send(`content-length: ${200 * mib}`, [])).answer).toBe(refused);
});

test("one that never ends is cut off", async () => {
  function* endless() {
    for (;;) yield chunk;
  }
  const { sent } = await send("transfer-encoding: chunked", endless());
  // What it reads, and what lies in the buffers between.
  expect(sent).toBeGreaterThan(25 * mib);
  expect(sent).toBeLessThan(50 * mib);
  expect(await server?.client().keys("heddle:{hook:*")).toEqual([]);
});

const lists = (levels: number, inside = "") => `${"[".repeat(levels)}${inside}${"]".repeat(levels)}`;

test.each([
  ["lists", lists(500_000)],
  ["objects", `${'{"a":'.repeat(170_000)}1${"}".repeat(170_000)}`],
  ["lists that nothing closes", "[".repeat(1_000_000)],
  ["one level too many", lists(101)],
])("%s nested deep are refused with words, and hold up nothing else", async (_what, text) => {
  const delays = monitorEventLoopDelay({ resolution: 5 });
  delays.enable();
  const answer = await send(`content-length: ${text.length}\r\nconnection: close`, [Buffer.from(text)]);
  delays.disable();
  expect(answer.answer).toBe("HTTP/1.1 400 Bad Request");
  // Parsing half a million of them takes one second, and longer on a busy machine.
  expect(delays.max / 1e6).toBeLessThan(500);
});

test("one that is as deep as it may be is taken, and brackets in its texts count for nothing", async () => {
  const text = `{"title":"\\"${"[{".repeat(200)}","deep":${lists(99, '"]\\\\"')}}`;
  const { answer } = await send(`content-length: ${text.length}\r\nconnection: close`, [Buffer.from(text)]);
  expect(answer).toBe("HTTP/1.1 200 OK");
});
