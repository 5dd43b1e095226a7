import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { connect, createServer as createSocketServer, type Server, Socket } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, expect, test } from "vitest";
import {
  createDayAllowance,
  type DayCounter,
  processCounter,
} from "../../../src/sandbox/egress/allowance.ts";
import { type Dialer, publicDialer } from "../../../src/sandbox/egress/dialer.ts";
import { createProxyServer } from "../../../src/sandbox/egress/proxy.ts";
import { listen } from "../../fakes/listen.ts";

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve));
});

async function portOf(server: Server): Promise<number> {
  servers.push(server);
  return listen(server);
}

/** A proxy in front of one host with a credential, without TLS. */
async function proxyTo(
  host: Server,
  options: {
    resolve?(): Promise<string[]>;
    secure?: Dialer["secure"];
    /** Addresses at which nobody answers. */
    silent?: readonly string[];
    /** Is told of connections to the host. */
    connected?(socket: Socket): unknown;
    counter?: DayCounter;
    bytesPerDay?: number;
    now?(): number;
  } = {},
) {
  const {
    resolve = async () => ["93.184.216.34"],
    secure = (socket) => socket,
    silent = [],
    connected,
    counter = processCounter(),
    bytesPerDay = 1e9,
    now = () => 0,
  } = options;
  const port = await portOf(host);
  const log: string[] = [];
  const dialled: string[] = [];
  const proxy = createProxyServer({
    policy: {
      hosts: ["api.example"],
      credentials: [{ host: "api.example", header: "authorization", value: "Bearer canary" }],
    },
    maxConnections: 10,
    allowance: createDayAllowance({ threadId: "t", counter, bytesPerDay, now }),
    now,
    log: (line) => log.push(line),
    dialer: {
      resolve,
      connect(address) {
        dialled.push(address);
        if (silent.includes(address)) return new Socket();
        const socket = connect(port, "127.0.0.1");
        connected?.(socket);
        return socket;
      },
      secure,
    },
  });
  const proxyPort = await portOf(proxy);
  return {
    log,
    dialled,
    end: () => proxy.end(),
    dial: () => connect(proxyPort, "127.0.0.1"),
    /** What comes back for these bytes. */
    async ask(request: string): Promise<string> {
      const client = connect(proxyPort, "127.0.0.1");
      client.write(request);
      return await text(client);
    },
  };
}

const get = "GET http://api.example/ HTTP/1.1\r\nHost: api.example\r\n";

test("One connection of the sandbox has one to the host, however many requests it sends at once", async () => {
  const { ask, dialled } = await proxyTo(createServer((_, answer) => answer.end("hello")));
  expect(await ask(`${get}\r\n`.repeat(50))).toContain("hello");
  expect(dialled).toHaveLength(1);
});

test("Nor does it have a tunnel beside a request", async () => {
  const { ask, dialled } = await proxyTo(createServer((_, answer) => answer.end("hello")));
  const both = `${get}\r\nCONNECT api.example:443 HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`;
  expect(await ask(both)).not.toContain("Connected");
  expect(dialled.length).toBeLessThanOrEqual(1);
});

test("A host of which some addresses are silent is reached at another, of either family", async () => {
  const silent = ["2606:4700::1", "2606:4700::2", "2606:4700::3", "93.184.216.35"];
  const { ask, dialled } = await proxyTo(
    createServer((_, answer) => answer.end("hello")),
    { silent, resolve: async () => [...silent, "93.184.216.34"] },
  );
  expect(await ask(`${get}\r\n`)).toContain("hello");
  expect(dialled).toEqual(["2606:4700::1", "93.184.216.35", "2606:4700::2", "93.184.216.34"]);
}, 20_000);

test("Who hangs up while the name is looked up leaves no connection behind", async () => {
  const asked = Promise.withResolvers<void>();
  const found = Promise.withResolvers<string[]>();
  const { dial, dialled, log } = await proxyTo(createServer(), {
    resolve() {
      asked.resolve();
      return found.promise;
    },
  });
  const client = dial();
  client.write(`${get}\r\n`);
  await asked.promise;
  const [server] = servers.slice(-1);
  client.destroy();
  await expect.poll(() => new Promise((resolve) => server?.getConnections((_, n) => resolve(n)))).toBe(0);
  found.resolve(["93.184.216.34"]);
  await expect.poll(() => log).toEqual(["GET api.example: the sandbox has hung up"]);
  expect(dialled).toEqual([]);
});

test.each([
  [
    "in chunks",
    "Transfer-Encoding: chunked\r\n",
    (body: string) => `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
  ],
  [
    "whose length is to be left out",
    "Content-Length: 50\r\nConnection: content-length\r\n",
    (body: string) => body,
  ],
])("A body %s is not taken for another request", async (_what, headers, framed) => {
  const arrived: string[] = [];
  const serve = async (request: IncomingMessage, answer: ServerResponse) => {
    arrived.push(`${request.url}: ${await text(request)}`);
    answer.end("hello");
  };
  const { ask } = await proxyTo(createServer((request, answer) => void serve(request, answer)));
  const hidden = "GET /hidden HTTP/1.1\r\nHost: other.example\r\n\r\n".padEnd(50);
  expect(await ask(`${get}${headers}\r\n${framed(hidden)}`)).toContain("hello");
  expect(arrived).toEqual([`/: ${hidden}`]);
});

test.each([
  ["a status that there is not", "099 Odd"],
  ["a change of the protocol that nobody asked for", "101 Odd\r\nConnection: upgrade\r\nUpgrade: odd"],
])("An answer with %s is a bad one", async (_what, answer) => {
  const host = createSocketServer((socket) => {
    socket.once("data", () => socket.end(`HTTP/1.1 ${answer}\r\n\r\n`)).on("error", () => undefined);
  });
  const { ask } = await proxyTo(host);
  expect(await ask(`${get}\r\n`)).toMatch(/^HTTP\/1\.1 502 /);
});

const connectTo = (host: string) => `CONNECT ${host}:443 HTTP/1.1\r\nHost: ${host}\r\n\r\n`;

test("A tunnel brings all that was sent before its end, also to who reads slowly", async () => {
  const sent = 8_000_000;
  const host = createSocketServer((socket) => socket.resume().end(Buffer.alloc(sent)));
  const { dial, log } = await proxyTo(host);
  const client = dial();
  client.write(connectTo("api.example"));
  let got = 0;
  for await (const chunk of client as AsyncIterable<Buffer>) {
    got += chunk.length;
    await new Promise(setImmediate);
  }
  expect(got).toBe(sent + "HTTP/1.1 200 Connected\r\n\r\n".length);
  await expect.poll(() => log).toEqual([`CONNECT api.example:443: closed after ${sent} bytes`]);
});

test("What a sandbox asks for again and again is in the log once, and then as a number", async () => {
  let time = 0;
  const { ask, end, log } = await proxyTo(createServer(), { now: () => time });
  for (let count = 0; count < 50; count += 1) await ask(connectTo("same.example"));
  for (let count = 0; count < 50; count += 1) await ask(connectTo(`${count}.example`));
  const reason = (host: string) => `CONNECT ${host}:443: ${host} is not on the list of reachable hosts`;
  expect(log).toEqual([
    reason("same.example"),
    ...Array.from({ length: 19 }, (_, count) => reason(`${count}.example`)),
  ]);
  log.length = 0;
  time = 60_000;
  await ask(connectTo("same.example"));
  expect(log).toEqual([
    `${reason("same.example")}, 49 times more within a minute`,
    "31 more that differ within a minute",
    reason("same.example"),
  ]);
  await ask(connectTo("same.example"));
  await end();
  expect(log.at(-1)).toBe(`${reason("same.example")}, 1 times more within a minute`);
});

test("Nothing passes while its bytes cannot be counted, and the sandbox is told why", async () => {
  const counter = { add: () => Promise.reject(new Error("no Redis")) };
  const { ask, dialled, log } = await proxyTo(createServer(), { counter });
  const words =
    "the bytes of this thread cannot be counted at this moment, so none may pass; try again later";
  expect(await ask(connectTo("api.example"))).toMatch(new RegExp(`^HTTP/1.1 503 [\\s\\S]*${words}\n$`));
  expect(await ask(`${get}\r\n`)).toContain(words);
  expect(dialled).toEqual([]);
  expect(log).toEqual([`CONNECT api.example:443: ${words}`, `GET api.example: ${words}`]);
});

test("A request whose headers are more than the day has left goes nowhere", async () => {
  const arrived: string[] = [];
  const host = createServer((request, answer) => {
    arrived.push(request.url ?? "");
    answer.end("hello");
  });
  const { ask } = await proxyTo(host, { bytesPerDay: 1_000 });
  expect(await ask(`${get}X: ${"x".repeat(2_000)}\r\n\r\n`)).toMatch(
    /^HTTP\/1\.1 429 [\s\S]*used up its bytes of today/,
  );
  expect(arrived).toEqual([]);
});

test.for<[string, string, string, Dialer["secure"]]>([
  ["a request", `X: ${"x".repeat(2_000)}\r\n\r\n`, "", publicDialer.secure],
  ["its answer", "\r\n", `HTTP/1.1 200 OK\r\nX: ${"x".repeat(2_000)}\r\n\r\n`, (socket) => socket],
])("A host that breaks off while %s is counted ends that and nothing else", async (row) => {
  const [, headers, reply, secure] = row;
  const toHost: Socket[] = [];
  const fromProxy: Socket[] = [];
  const counts = processCounter();
  let times = 0;
  const counter: DayCounter = {
    async add(...bytes) {
      times += 1;
      // The first is the look whether anything may pass.
      if (times === 2) {
        await expect.poll(() => fromProxy).toHaveLength(1);
        const closed = new Promise((resolve) => toHost[0]?.once("close", resolve));
        fromProxy[0]?.resetAndDestroy();
        await closed;
      }
      return counts.add(...bytes);
    },
  };
  const host = createSocketServer((socket) => {
    fromProxy.push(socket);
    socket.on("error", () => {}).write(reply);
  });
  const connected = (socket: Socket) => toHost.push(socket);
  const { ask } = await proxyTo(host, { counter, bytesPerDay: 64_000, connected, secure });
  expect(await ask(`${get}${headers}`)).toMatch(/^HTTP\/1\.1 502 /);
});
