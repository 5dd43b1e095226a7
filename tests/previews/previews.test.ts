import { once } from "node:events";
import { rmSync } from "node:fs";
import { request } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { PreviewAccess } from "../../src/agent/contracts/previews.ts";
import { createPreviewTools } from "../../src/agent/tools/previews.ts";
import { openPreviews, type PreviewOptions, type Previews } from "../../src/previews/previews.ts";
import type { Exposure, Sandbox } from "../../src/sandbox/sandbox.ts";
import { dataFolder, openTwoThreads, type TwoThreads } from "../sandbox/two-threads.ts";

const dataDir = dataFolder();
let threads: TwoThreads;
let previews: Previews;
beforeAll(async () => {
  threads = await openTwoThreads(dataDir, { jobsPerThread: 6 });
  previews = await open();
});
afterEach(async () => {
  await Promise.all([threads.sandbox.killAll(), threads.other.killAll()]);
});
afterAll(async () => {
  await previews.close();
  await threads.backend.close();
  rmSync(dataDir, { recursive: true });
});

const address = "http://{id}.localhost:{port}";
const open = (more: Partial<PreviewOptions> = {}) =>
  openPreviews({
    ...{ address, host: "127.0.0.1", port: 0, lifetimeMs: 3_600_000, perThread: 2, now: Date.now },
    ...more,
  });

async function show(
  sandbox: Sandbox,
  what: Exposure,
  access: PreviewAccess = previews.of("one"),
  minutes?: number,
) {
  const result = await sandbox.expose(what);
  if (!result.ok) throw new Error(result.message);
  return { ...access.publish(result.exposed, minutes), job: result.exposed.job };
}

/** Tells what came to it: `method path`, the headers as JSON, and the body. Answers an upgrade with an echo. */
const telling = `
const server = require("node:http").createServer(async (request, response) => {
  let body = "";
  for await (const chunk of request) body += chunk;
  response.setHeader("set-cookie", ["a=1; Path=/; Domain=localhost", "b=2"]);
  response.setHeader("referrer-policy", "unsafe-url");
  if (request.url === "/moved") response.writeHead(302, { location: "http://localhost:3000/there" });
  response.end(JSON.stringify({ line: request.method + " " + request.url, headers: request.headers, body }));
});
server.on("upgrade", (request, socket) => {
  socket.write("HTTP/1.1 101 Switching Protocols\\r\\nconnection: upgrade\\r\\nupgrade: " + request.headers.upgrade + "\\r\\n\\r\\n");
  socket.write(request.headers.host + "|" + request.headers.cookie + "|");
  socket.pipe(socket);
});
server.listen(3000, "127.0.0.1", () => console.log("up"));
`;

/** Answers with what stands behind the question mark, as it is, and leaves the connection open. */
const literal = `
const server = require("node:net").createServer((socket) => {
  socket.on("error", () => {});
  socket.once("data", (request) => socket.write(decodeURIComponent(/^GET [^ ?]*[?]([^ ]*)/.exec(request)[1])));
});
server.listen(3000, "127.0.0.1", () => console.log("up"));
`;

async function serve(sandbox: Sandbox, program = telling) {
  await sandbox.writeFile("server.cjs", Buffer.from(program));
  const started = await sandbox.start({ command: "node server.cjs" });
  if (!started.ok) throw new Error(started.message);
  await expect.poll(async () => (await started.job.read(0, 10)).total).toBeGreaterThan(0);
}

interface Asked {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
}

/** As a browser does, whose names below localhost lead here. */
async function get(url: string, { method = "GET", headers = {}, body }: Asked = {}) {
  const { host, port, pathname, search } = new URL(url);
  const asked = request({
    host: "127.0.0.1",
    port,
    method,
    path: pathname + search,
    headers: { host, ...headers },
  });
  const answered = new Promise<{ status: number; headers: Record<string, unknown>; body: string }>(
    (resolve, reject) => {
      asked.on("error", reject);
      asked.on("response", (response) => {
        const { statusCode: status = 0, headers: given } = response;
        text(response).then((whole) => resolve({ status, headers: given, body: whole }), reject);
      });
    },
  );
  asked.end(body);
  return answered;
}

test("A preview passes requests on as the machine itself would send them, and answers back without a say beyond it", async () => {
  await serve(threads.sandbox);
  const preview = await show(threads.sandbox, { port: 3000 });
  expect(preview.address).toMatch(new RegExp(`^http://[a-z2-7]{26}\\.localhost:${previews.port}/$`));
  const { host, origin } = new URL(preview.address);
  const answer = await get(`${preview.address}a/b?c=d`, {
    method: "POST",
    headers: {
      cookie: "mine=1; heddle_console=secret; other=2",
      origin,
      connection: "x-private",
      "x-private": "1",
    },
    body: "hello",
  });
  const told = JSON.parse(answer.body);
  expect(told).toMatchObject({ line: "POST /a/b?c=d", body: "hello" });
  expect(told.headers).toMatchObject({
    ...{ host: "localhost", origin: "http://localhost", cookie: "mine=1; other=2" },
    ...{ "x-forwarded-host": host, "x-forwarded-proto": "http" },
  });
  expect(answer.body).not.toMatch(/secret|x-private/);
  expect(answer.headers).toMatchObject({
    ...{ "set-cookie": ["a=1; Path=/", "b=2"], "referrer-policy": "no-referrer", "x-robots-tag": "noindex" },
  });
  expect((await get(`${preview.address}moved`)).headers["location"]).toBe("/there");
});

test("A body whose length nobody knows arrives as one, whatever the method", async () => {
  await serve(threads.sandbox);
  const preview = await show(threads.sandbox, { port: 3000 });
  for (const method of ["DELETE", "OPTIONS", "PATCH"]) {
    const answer = await get(`${preview.address}a`, {
      method,
      headers: { "transfer-encoding": "chunked" },
      body: "GET /b HTTP/1.1",
    });
    expect(JSON.parse(answer.body)).toMatchObject({ line: `${method} /a`, body: "GET /b HTTP/1.1" });
  }
});

test("A WebSocket works both ways, without the console's cookie", async () => {
  await serve(threads.sandbox);
  const preview = await show(threads.sandbox, { port: 3000 });
  const { host } = new URL(preview.address);
  const socket = connect(previews.port, "127.0.0.1");
  let said = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => (said += chunk));
  socket.write(
    `GET /live HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nCookie: heddle_console=secret; mine=1\r\n\r\n`,
  );
  await expect.poll(() => said).toMatch(/^HTTP\/1\.1 101 [^|]*\r\n\r\nlocalhost\|mine=1\|$/s);
  socket.write("ping");
  await expect.poll(() => said).toMatch(/\|ping$/);
  const closed = new Promise((resolve) => socket.on("close", resolve));
  await threads.sandbox.killAll();
  await closed;
});

test.each([
  ["an answer", "200 OK", {}],
  ["a changed protocol", "101 Switching Protocols", { connection: "upgrade", upgrade: "websocket" }],
  ["a refused change of the protocol", "403 Forbidden", { connection: "upgrade", upgrade: "websocket" }],
])(
  "Cookies of %s reach no other host name, however their attributes are written",
  async (_what, status, asked) => {
    await serve(threads.sandbox, literal);
    const preview = await show(threads.sandbox, { port: 3000 });
    const cookies = [
      ...["a=1; Domain =team.test", "b=2;\tDOMAIN\t= team.test;Path=/", "c=3; domain; Secure"],
      ...["domain=4; Path=/domain=x", "e=5; Domain=a.test; Domain=b.test"],
    ];
    const set = cookies.map((cookie) => `set-cookie: ${cookie}\r\n`).join("");
    const protocol = status.startsWith("101") ? "connection: upgrade\r\nupgrade: websocket\r\n" : "";
    const length = protocol === "" ? "content-length: 2\r\n" : "";
    const answer = `HTTP/1.1 ${status}\r\n${set}${protocol}${length}\r\nhi`;
    const socket = connect(previews.port, "127.0.0.1");
    let said = "";
    socket.setEncoding("utf8").on("data", (chunk: string) => (said += chunk));
    const headers = Object.entries({ host: new URL(preview.address).host, ...asked });
    const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
    socket.write(`GET /?${encodeURIComponent(answer)} HTTP/1.1\r\n${lines}\r\n`);
    await expect.poll(() => said).toMatch(/\r\n\r\nhi$/);
    socket.destroy();
    expect(said.startsWith(`HTTP/1.1 ${status}\r\n`)).toBe(true);
    expect([...said.matchAll(/^set-cookie: (.*)\r$/gim)].map(([, cookie]) => cookie)).toEqual([
      ...["a=1", "b=2;Path=/", "c=3; Secure", "domain=4; Path=/domain=x", "e=5"],
    ]);
  },
);

test("Neither a WebSocket nor a request without an answer holds up the end of the worker", async () => {
  const silent = telling.replace("let body", 'if (request.url === "/silent") return; let body');
  await serve(threads.sandbox, silent);
  const ending = await open();
  const preview = await show(threads.sandbox, { port: 3000 }, ending.of("one"));
  const { host } = new URL(preview.address);
  const socket = connect(ending.port, "127.0.0.1");
  const cut = once(socket, "close");
  socket.write(`GET /live HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`);
  await once(socket, "data");
  const unanswered = get(`${preview.address}silent`).catch(() => "cut");
  await get(preview.address);
  await ending.close();
  await cut;
  expect(await unanswered).toBe("cut");
  expect(preview.job.status().state).toBe("running");
});

test("Whoever keeps a refused WebSocket open takes no connection from others", async () => {
  const socket = connect({ port: previews.port, host: "127.0.0.1", allowHalfOpen: true });
  const isClosed = new Promise((resolve) => socket.once("close", resolve));
  socket.on("error", () => {});
  socket.write("GET / HTTP/1.1\r\nHost: a.localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
  const [answer] = await once(socket, "data");
  expect(String(answer)).toMatch(/^HTTP\/1\.1 404 /);
  // Only who writes learns that the other side has closed it.
  const writing = setInterval(() => socket.write("more"), 100);
  await isClosed;
  clearInterval(writing);
});

test("After a stop the address is gone, as one that was never given, and another thread's server is at none of them", async () => {
  await serve(threads.sandbox);
  await serve(threads.other, telling.replace("let body", 'response.end("theirs"); return; let body'));
  const preview = await show(threads.sandbox, { port: 3000 });
  expect((await get(preview.address)).body).not.toBe("theirs");
  await threads.sandbox.killAll();
  const gone = { status: 410, body: "This preview has ended. Ask in the thread for a new one.\n" };
  expect(await get(preview.address)).toMatchObject(gone);
  expect(await get(`http://${"a".repeat(26)}.localhost:${previews.port}/`)).toMatchObject(gone);
  for (const host of ["localhost", "127.0.0.1", "a.localhost", "evil.example"])
    expect(await get(`http://127.0.0.1:${previews.port}/`, { headers: { host } })).toMatchObject({
      status: 404,
    });
});

test("A preview ends with its time, and with its command", async () => {
  await threads.sandbox.exec({ command: "mkdir -p site; echo hi > site/index.html" });
  const short = await open({ lifetimeMs: 300 });
  const timed = await show(threads.sandbox, { folder: "site" }, short.of("one"));
  const killed = await show(threads.sandbox, { folder: "site" }, previews.of("one"), 5);
  expect((await get(killed.address)).body).toBe("hi\n");
  expect(killed.until).toBeLessThanOrEqual(Date.now() + 300_000);
  await timed.job.wait();
  await expect.poll(async () => (await get(timed.address)).status).toBe(410);
  await killed.job.kill();
  await expect.poll(async () => (await get(killed.address)).status).toBe(410);
  await short.close();
});

test("A server that is gone, while its preview is not, is told as such", async () => {
  const single =
    'require("node:http").createServer((q, r) => r.end("bye", () => process.exit())).listen(3000, "127.0.0.1", () => console.log("up"))';
  await serve(threads.sandbox, single);
  const preview = await show(threads.sandbox, { port: 3000 });
  await get(preview.address).catch(() => undefined);
  await expect.poll(async () => (await get(preview.address)).status).toBe(502);
  expect((await get(preview.address)).body).toMatch(
    /^What this preview shows does not answer\. Ask in the thread/,
  );
});

test.each([
  ["099", ""],
  ["000", ""],
  ["101", "connection: upgrade\r\nupgrade: websocket\r\n"],
])("An answer with the status %s, which is no final one, is told as a bad one", async (status, headers) => {
  await serve(threads.sandbox, literal);
  const preview = await show(threads.sandbox, { port: 3000 });
  const answer = `HTTP/1.1 ${status} Odd\r\n${headers}content-length: 2\r\n\r\nhi`;
  expect(await get(`${preview.address}?${encodeURIComponent(answer)}`)).toMatchObject({ status: 502 });
});

test("Two hundred requests at once are answered, or told to come again", async () => {
  await threads.sandbox.exec({ command: "mkdir -p site; head -c 100000 /dev/zero > site/zeros" });
  const preview = await show(threads.sandbox, { folder: "site" });
  const all = await Promise.all(Array.from({ length: 200 }, () => get(`${preview.address}zeros`)));
  const count = (status: number) => all.filter((answer) => answer.status === status).length;
  expect(count(200)).toBeGreaterThanOrEqual(64);
  expect(count(200) + count(503)).toBe(200);
  expect(all.filter(({ status }) => status === 200).every(({ body }) => body.length === 100_000)).toBe(true);
});

test("The next worker of a machine takes the next port, and a taken range is told with what to correct", async () => {
  const next = await open({ port: previews.port });
  expect(next.port).toBeGreaterThan(previews.port);
  await next.close();
  await expect(open({ host: "192.0.2.1" })).rejects.toThrow(
    /^Previews cannot listen on 192\.0\.2\.1:0 \(EADDRNOTAVAIL\): correct previews\.host or previews\.port/,
  );
});

test("The tools give an address to pass on, and refuse more than the limit", async () => {
  await threads.sandbox.exec({ command: "mkdir -p site; echo hi > site/index.html" });
  const [port, folder] = createPreviewTools(previews.of("one"));
  const context = { sandbox: threads.sandbox, signal: new AbortController().signal } as Parameters<
    NonNullable<typeof folder>["run"]
  >[1];
  const shown = await folder?.run({ path: "site" }, context);
  expect(shown).toMatchObject({
    status: "ok",
    text: expect.stringMatching(
      /^People can open http:\/\/\S+\/ until .+: whoever has the address, so give it to those who asked\. It is the background command job-\w+, ends with a stop/,
    ),
  });
  const [given = ""] = /http:\S+/.exec(shown?.text ?? "") ?? [];
  expect((await get(given)).body).toBe("hi\n");
  expect(await port?.run({ port: 4000 }, context)).toMatchObject({
    status: "error",
    text: expect.stringContaining("Nothing answers on port 4000"),
  });
  await folder?.run({ path: "site" }, context);
  expect(await folder?.run({ path: "site" }, context)).toEqual({
    status: "error",
    text: "This thread shows 2 previews already, which is the limit; end one with bash_kill.",
  });
});
