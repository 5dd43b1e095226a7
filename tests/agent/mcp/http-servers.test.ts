import { createServer } from "node:http";
import { once } from "node:events";
import { describe, expect, onTestFinished, test } from "vitest";
import { freePort } from "../../fakes/free-port.ts";
import type { McpPool } from "../../../src/agent/mcp/pool.ts";
import { listTools, poolOf, run, toolNamed } from "./harness.ts";
import { startHttpFixture } from "./servers/http.ts";
import type { HttpFixture } from "./servers/http.ts";
import { closeServer } from "../../fakes/listen.ts";
import { listenForTest } from "../../fakes/listen-for-test.ts";

async function serve(kind: "http" | "sse", port = 0): Promise<HttpFixture> {
  const fixture = await startHttpFixture(kind, port);
  onTestFinished(() => fixture.stop());
  return fixture;
}

describe.for(["http", "sse"] as const)("a server behind a url, over %s", (kind) => {
  test("lists and runs its tools, with the configured headers on every request", async () => {
    const { url, headers } = await serve(kind);
    const pool = await poolOf({ web: { url, type: kind, headers: { Authorization: "Bearer abc" } } });
    expect(await run(await toolNamed(pool, "web__echo"), { say: "hi" })).toEqual({
      status: "ok",
      text: "hi",
    });
    expect(headers.length).toBeGreaterThan(2);
    expect(headers.every(({ authorization }) => authorization === "Bearer abc")).toBe(true);
  });

  test("is told the version of this program", async () => {
    const fixture = await startHttpFixture(kind, 0, {
      more: [{ name: "client", inputSchema: { type: "object" } }],
    });
    onTestFinished(() => fixture.stop());
    const pool = await poolOf({ web: { url: fixture.url, type: kind } }, { version: "7.8.9" });
    expect(await run(await toolNamed(pool, "web__client"))).toMatchObject({ text: "heddle 7.8.9" });
  });

  test("works again after it was restarted, in the same call", async () => {
    const first = await serve(kind, await freePort());
    const pool = await poolOf({ web: { url: first.url, type: kind } });
    const echo = await toolNamed(pool, "web__echo");
    expect(await run(echo, { say: "before" })).toMatchObject({ text: "before" });
    await stop(first, pool);
    await serve(kind, first.port);
    expect(await run(echo, { say: "after" })).toEqual({ status: "ok", text: "after" });
  });

  test("that went away costs its own tools, and the call says so", async () => {
    const fixture = await serve(kind);
    const pool = await poolOf({ web: { url: fixture.url, type: kind } });
    const echo = await toolNamed(pool, "web__echo");
    await stop(fixture, pool);
    const result = await run(echo, { say: "anyone?" });
    expect(result).toMatchObject({ status: "error", outage: true });
    expect(result.text).toMatch(/^The MCP server web is not available: .*ECONNREFUSED.*The call has not run/);
    expect(pool.status()).toMatchObject([{ state: "failed", tools: [] }]);
    expect((await run(echo)).text).toMatch(/the next attempt is possible in 1 s/);
  });

  test("that sends its clients elsewhere is not followed, and told of by where it leads", async () => {
    const followed: string[] = [];
    const elsewhere = createServer((request, response) => {
      followed.push(request.url ?? "");
      response.end();
    });
    const keys = `${await listenForTest(elsewhere)}/keys`;
    const moving = createServer((_, response) => response.writeHead(307, { location: keys }).end());
    const url = `${await listenForTest(moving)}/mcp`;
    const pool = await poolOf({ web: { url, type: kind, headers: { "X-Key": "abc" } } });
    await pool.offer(AbortSignal.any([]));
    expect(pool.status()).toMatchObject([
      {
        state: "failed",
        problem: expect.stringContaining(`${new URL(keys).port}/keys not followed`),
      },
    ]);
    expect(followed).toEqual([]);
  });

  test("that wants a login from now on says so in the call, without the body of its answer", async () => {
    const fixture = await serve(kind);
    const pool = await poolOf({ web: { url: fixture.url, type: kind } });
    const echo = await toolNamed(pool, "web__echo");
    await stop(fixture, pool);
    const closed = createServer((_, response) => response.writeHead(401).end('{"error":"invalid_token"}'));
    closed.listen(fixture.port, "127.0.0.1");
    await once(closed, "listening");
    onTestFinished(() => closeServer(closed));
    const { status, text } = await run(echo, { say: "anyone?" });
    expect(status).toBe("error");
    expect(text).toContain("it wants a login (HTTP 401): put a token that it takes into `headers`");
    expect(text).not.toContain("invalid_token");
  });

  /** Streamable HTTP has no standing connection that both sides must give up; an SSE stream is one. */
  async function stop(fixture: HttpFixture, pool: McpPool): Promise<void> {
    await fixture.stop();
    if (kind === "sse") await expect.poll(() => pool.status()[0]?.state).toBe("lost");
  }

  test("that dies during a call leaves its outcome open", async () => {
    const fixture = await serve(kind);
    const pool = await poolOf({ web: { url: fixture.url, type: kind } });
    const hang = await toolNamed(pool, "web__hang");
    const call = run(hang);
    // One connection keeps its order, so the server has met the first call when the second is answered.
    await run(await toolNamed(pool, "web__echo"));
    await fixture.stop();
    expect(await call).toMatchObject({ status: "unknown", outage: true });
  });

  test("over its time is told to cancel, and works on", async () => {
    const { url } = await serve(kind);
    const pool = await poolOf({ web: { url, type: kind, execute_timeout: 0.2 } });
    expect((await run(await toolNamed(pool, "web__hang"))).text).toContain("within 0.2 s");
    // On a busy machine this may be over its time, too.
    const journal = async () => (await run(await toolNamed(pool, "web__journal"))).text;
    await expect.poll(journal).toBe("started cancelled");
  });

  test("that announces a new tool is asked for its list again", async () => {
    const { url } = await serve(kind);
    const pool = await poolOf({ web: { url, type: kind } });
    await run(await toolNamed(pool, "web__grow"));
    await expect.poll(async () => (await listTools(pool)).map(({ name }) => name)).toContain("web__grown");
  });
});

test("a session over streamable HTTP is ended when the pool is closed", async () => {
  const fixture = await serve("http");
  const pool = await poolOf({ web: { url: fixture.url } });
  await listTools(pool);
  await pool.close();
  expect(fixture.ended).toBe(1);
});

describe("addresses without a server behind them", () => {
  async function respondWith(status: number, body: string, keepOpen = false): Promise<string> {
    const server = createServer((_, response) => {
      response.writeHead(status, { "content-type": "text/event-stream" }).write(body);
      if (!keepOpen) response.end();
    });
    return `${await listenForTest(server)}/`;
  }

  test.each([
    ["http", 401, /^it wants a login \(HTTP 401\): put a token that it takes into `headers` of its entry/],
    ["sse", 401, /^it wants a login \(HTTP 401\): put a token that it takes into `headers` of its entry/],
    ["http", 403, /^it refuses what it was asked \(HTTP 403\): the token in `headers`/],
  ] as const)(
    "that want a login over %s (%i) say so and what to do, in the status",
    async (type, code, says) => {
      const url = await respondWith(code, '{"error":"invalid_token"}');
      const pool = await poolOf({ web: { url, type, headers: { Authorization: "Bearer sk-12345678" } } });
      expect(await listTools(pool)).toEqual([]);
      const problem = pool.status()[0]?.problem ?? "";
      expect(problem).toMatch(says);
      expect(problem).not.toMatch(/invalid_token|sk-12345678/);
    },
  );

  test.each([
    ["http", 404, "", "it has nothing there (HTTP 404): correct `url` of its entry in mcp.json"],
    ["http", 405, "", "it refuses what it was asked (HTTP 405)"],
    ["http", 429, "slowly", "it refuses what it was asked (HTTP 429): slowly"],
    ["sse", 404, "", "it has nothing there (HTTP 404): correct `url` of its entry in mcp.json"],
  ] as const)("that refuse over %s (%i) are told with their status", async (type, code, body, says) => {
    const pool = await poolOf({ web: { url: await respondWith(code, body), type } });
    expect(await listTools(pool)).toEqual([]);
    expect(pool.status()[0]?.problem).toBe(says);
  });

  test("that fail say so in the status, without the key that was sent", async () => {
    const url = await respondWith(500, "no thanks to sk-12345678");
    const pool = await poolOf({ web: { url, headers: { Authorization: "Bearer sk-12345678" } } });
    expect(await listTools(pool)).toEqual([]);
    const problem = pool.status()[0]?.problem ?? "";
    expect(problem).toContain("no thanks");
    expect(problem).not.toContain("sk-12345678");
  });

  test("that open a stream and say nothing are given up after the connect time-out", async () => {
    const url = await respondWith(200, ": hello\n\n", true);
    const pool = await poolOf({ web: { url, type: "sse", connect_timeout: 0.2 } });
    expect(await listTools(pool)).toEqual([]);
    expect(pool.status()).toMatchObject([{ state: "failed", problem: "no answer within 0.2 s" }]);
  });

  test("that fall silent are given up after the read time-out", async () => {
    const url = await respondWith(200, ": hello\n\n", true);
    const pool = await poolOf({ web: { url, type: "sse", sse_read_timeout: 0.2 } });
    expect(await listTools(pool)).toEqual([]);
    expect(pool.status()).toMatchObject([
      { state: "failed", problem: expect.stringMatching(/no data for 0.2 s/) },
    ]);
  });
});

test.each([
  ["a gateway that waits no longer", 504, "text/html", "<h1>Gateway Time-out</h1>", "it fails (HTTP 504)"],
  ["half an answer", 200, "application/json", '{"jsonrpc": "2.0", ', "JSON"],
  ["a page", 200, "text/html", "<h1>Welcome</h1>", "text/html"],
  [
    "a result of no form",
    200,
    "application/json",
    '{"jsonrpc": "2.0", "id": ID, "result": "done"}',
    "protocol",
  ],
  [
    "a faulty result",
    200,
    "application/json",
    '{"jsonrpc": "2.0", "id": ID, "result": {"content": 1}}',
    "content",
  ],
])("a call that %s answers may have run, and says so", async (_who, status, type, body, why) => {
  const { url } = await serve("http");
  const gateway = createServer((request, response) => {
    void (async () => {
      const sent = Buffer.concat(await Array.fromAsync<Buffer>(request)).toString();
      const id = /"tools\/call"/.test(sent) ? /"id":(\d+)/.exec(sent)?.[1] : undefined;
      if (id !== undefined)
        return response.writeHead(status, { "content-type": type }).end(body.replace("ID", id));
      const { method = "GET", headers } = request;
      const kept = Object.entries(headers).filter(([name]) => /^(accept|content-type|mcp-.*)$/.test(name));
      const answer = await fetch(url, {
        method,
        headers: kept.map(([name, value]): [string, string] => [name, String(value)]),
        ...(sent !== "" && { body: sent }),
      });
      response.writeHead(answer.status, Object.fromEntries(answer.headers));
      return response.end(Buffer.from(await answer.arrayBuffer()));
    })();
  });
  const pool = await poolOf({ web: { url: `${await listenForTest(gateway)}/mcp` } });
  const result = await run(await toolNamed(pool, "web__fail"));
  expect(result).toMatchObject({ status: "unknown", text: expect.stringContaining(why) });
  expect(result.text).toContain("Nobody knows whether the call had effects; check before you repeat it.");
});

test("a time-out of 0 is refused for the pool as a whole", async () => {
  await expect(poolOf({}, { timeouts: { readMs: 0 } })).rejects.toThrow(/readMs must be above 0 ms, not 0/);
});
