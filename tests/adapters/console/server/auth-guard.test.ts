import { type IncomingHttpHeaders, IncomingMessage } from "node:http";
import { connect, Socket } from "node:net";
import { text as readText } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type AuthGuard, createAuthGuard } from "../../../../src/adapters/console/server/auth-guard.ts";
import { createSignIns } from "../../../../src/operations/people/sign-ins.ts";
import {
  type AddressList,
  createAddressList,
} from "../../../../src/adapters/console/server/client-address.ts";
import { startRedis, type TestRedis } from "../../../fakes/redis.ts";
import { call } from "../requests.ts";
import { type ConsoleSettings, startConsole } from "../start-console.ts";

const token = "correct-horse-battery";
let redis: TestRedis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());
const open = (settings: ConsoleSettings = {}) => startConsole({ redis, ...settings });
const message = { method: "POST", json: { text: "hello", key: "first-key" } };
const address = "/api/threads/abcdefgh12345678/messages";

const statusOf = async (guard: AuthGuard, request: IncomingMessage) => {
  const who = await guard.authenticate(request);
  return who.ok ? undefined : who.refusal.status;
};

test("a console whose port is taken says what to do", async () => {
  await using console = await open();
  await expect(open({ port: Number(new URL(console.url).port) })).rejects.toThrow(
    /cannot listen on 127\.0\.0\.1:\d+, because another Heddle does: .*set HEDDLE_PORT to a free port\.$/,
  );
});

describe("a console without a token", () => {
  test("answers under the names of this machine only, so that a rebound name gets nowhere", async () => {
    await using console = await open();
    const { port } = new URL(console.url);
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`]) {
      expect((await call(console.url, "/api/status", { headers: { host } })).status).toBe(200);
    }
    for (const host of [
      "evil.example",
      `evil.example:${port}`,
      "127.0.0.1.evil.example",
      "localhost@evil.example",
      "]",
    ]) {
      expect((await call(console.url, "/api/status", { headers: { host } })).status).toBe(421);
      expect((await call(console.url, "/", { headers: { host } })).status).toBe(421);
    }
  });

  test("takes nothing from the pages of other sites", async () => {
    await using console = await open();
    const strangers = [
      { origin: "https://evil.example" },
      { origin: "null" },
      { origin: "http://127.0.0.1:1" },
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
    ];
    for (const headers of strangers) {
      expect((await call(console.url, address, { ...message, headers })).status).toBe(403);
    }
    expect(console.intake.events).toEqual([]);

    const own = { origin: console.url, "sec-fetch-site": "same-origin" };
    expect((await call(console.url, address, { ...message, headers: own })).status).toBe(200);
  });

  test("opens its page by a link on another site, and nothing else", async () => {
    await using console = await open();
    const link = {
      "sec-fetch-site": "cross-site",
      "sec-fetch-mode": "navigate",
      "sec-fetch-dest": "document",
    };
    const follow = async (path: string, headers: Record<string, string> = {}, method = "GET") =>
      (await call(console.url, path, { method, headers: { ...link, ...headers } })).status;
    expect(await follow("/")).toBe(200);
    for (const path of ["/api/v1/status", "/metrics", "/main.js", "/mcp"])
      expect(await follow(path)).toBe(403);
    expect(await follow("/", {}, "POST")).toBe(403);
    expect(await follow("/", { "sec-fetch-dest": "iframe" })).toBe(403);
    expect(await follow("/", { "sec-fetch-mode": "no-cors" })).toBe(403);
    expect(await follow("/", { origin: "https://evil.example" })).toBe(403);
    expect(await follow("/", { host: "evil.example" })).toBe(421);
  });

  test.each(["0.0.0.0", "::", "192.0.2.7"])("does not start on %s", async (host) => {
    await expect(open({ host })).rejects.toThrow(/HEDDLE_CONSOLE_TOKEN/);
  });
});

describe("a console with a token", () => {
  test("does not start with one that can be guessed", async () => {
    await expect(open({ token: "hunter2" })).rejects.toThrow(/at least 16 characters/);
  });

  test("shows its page to everybody and everything else to nobody without the token", async () => {
    await using console = await open({ host: "0.0.0.0", token });
    expect((await call(console.url, "/")).status).toBe(200);
    const attempts = [
      {},
      { authorization: "Bearer wrong" },
      { authorization: token },
      { cookie: `heddle_console=${token}` },
    ];
    for (const headers of attempts) {
      expect((await call(console.url, address, { ...message, headers })).status).toBe(401);
      expect((await call(console.url, "/api/events", { headers })).status).toBe(401);
      expect((await call(console.url, "/api/session", { method: "POST", headers })).status).toBe(401);
    }
    expect((await call(console.url, `/api/status?token=${token}`)).status).toBe(401);
    expect(console.intake.events).toEqual([]);
  });

  /** A request that comes from that address. */
  const asked = (headers: IncomingHttpHeaders, remoteAddress = "203.0.113.1") => {
    const socket = Object.defineProperty(new Socket(), "remoteAddress", { value: remoteAddress });
    return Object.assign(new IncomingMessage(socket), { headers });
  };

  /** One at which a browser is signed in. */
  const openSignedIn = async (settings: { proxies?: AddressList; now(): number }) => {
    const signIns = createSignIns(redis.client());
    const gate = createAuthGuard({ host: "0.0.0.0", token, signIns, ...settings });
    const request = asked({ authorization: `Bearer ${token}` }, "192.0.2.1");
    const who = await gate.authenticate(request);
    const cookie = await gate.signIn(request, who.ok ? who.by : undefined);
    return { gate, cookie: cookie?.split(";")[0] ?? "" };
  };

  const proxies = createAddressList(["127.0.0.1", "172.18.0.0/16", "fd00::/8"]);

  test.each([
    ["each client of a proxy that is named", "::ffff:127.0.0.1", "203.0.113.7", undefined],
    ["each client of a named network of proxies", "172.18.0.2", "2001:db8::7", undefined],
    ["the client before two named proxies", "fd00::1", "203.0.113.7, 172.18.0.9", undefined],
    [
      "the client that the proxy has seen, not those it claims to be",
      "127.0.0.1",
      "198.51.100.9, 203.0.113.1",
      429,
    ],
    ["a named proxy, when it names no address", "172.18.0.2", "unknown", 429],
    ["a near address that is not named, whatever it says", "10.0.0.1", "203.0.113.7", 429],
    ["a neighbour of the proxy on this machine", "127.0.0.2", "203.0.113.7", 429],
    ["a public address, whatever it says of others", "203.0.113.2", "203.0.113.7", 429],
  ])("counts the wrong tokens of %s", async (_, peer, forwarded, status) => {
    const gate = createAuthGuard({ host: "0.0.0.0", token, proxies });
    const bearer = (text: string, from: string) =>
      statusOf(gate, asked({ authorization: `Bearer ${text}`, "x-forwarded-for": from }, peer));
    const attacker = forwarded === "unknown" ? forwarded : "198.51.100.1, 203.0.113.1";
    for (const guess of Array(10).keys()) expect(await bearer(`guess-${guess}`, attacker)).toBe(401);
    expect(await bearer(token, attacker)).toBe(429);
    expect(await bearer(token, forwarded)).toBe(status);
  });

  test("looks at 300 wrong tokens a minute of all clients of a proxy, while pages that are signed in go on", async () => {
    let now = 0;
    const { gate, cookie } = await openSignedIn({ proxies, now: () => now });
    const from = (n: number) => ({ "x-forwarded-for": `198.51.${n >> 8}.${n & 255}` });
    const guess = (n: number) =>
      statusOf(gate, asked({ authorization: `Bearer guess-${n}`, ...from(n) }, "127.0.0.1"));
    const statuses = await Promise.all(Array.from({ length: 400 }, (_, n) => guess(n)));
    expect(statuses.filter((status) => status === 401)).toHaveLength(300);
    expect(statuses.slice(300).every((status) => status === 429)).toBe(true);
    expect(await statusOf(gate, asked({ cookie, ...from(500) }, "127.0.0.1"))).toBeUndefined();
    now = 60_000;
    expect(await guess(401)).toBe(401);
  });

  test("counts the addresses of one IPv6 network together", async () => {
    const gate = createAuthGuard({ host: "0.0.0.0", token });
    const guesses = Array.from({ length: 11 }, (_, n) =>
      statusOf(gate, asked({ authorization: `Bearer guess-${n}` }, `2001:db8:1:2::${n}`)),
    );
    const statuses = await Promise.all(guesses);
    expect(statuses.at(-1)).toBe(429);
  });

  test("looks at ten wrong tokens a minute, while a page that is signed in goes on", async () => {
    let now = 0;
    const { gate, cookie } = await openSignedIn({ now: () => now });
    const bearer = (text: string) => statusOf(gate, asked({ authorization: `Bearer ${text}` }));
    for (const guess of Array(10).keys()) expect(await bearer(`guess-${guess}`)).toBe(401);
    expect(await bearer(token)).toBe(429);
    expect(await statusOf(gate, asked({ cookie }))).toBeUndefined();
    now = 60_000;
    expect(await bearer(token)).toBeUndefined();
  });

  test("takes the code of the login link once, to sign in and within 15 minutes", async () => {
    let now = 0;
    const openGate = () =>
      createAuthGuard({ host: "127.0.0.1", token, loginCode: "from-the-link", now: () => now });
    const signIn = (gate: ReturnType<typeof openGate>, method: string, url: string) =>
      statusOf(gate, Object.assign(asked({ authorization: "Bearer from-the-link" }), { method, url }));
    const gate = openGate();
    expect(await signIn(gate, "GET", "/api/status")).toBe(401);
    expect(await signIn(gate, "POST", "/api/threads")).toBe(401);
    expect(await signIn(gate, "POST", "/api/v1/session")).toBeUndefined();
    expect(await signIn(gate, "POST", "/api/session")).toBe(401);
    const late = openGate();
    now = 15 * 60_000;
    expect(await signIn(late, "POST", "/api/session")).toBe(401);
  });

  test("trades the token for a cookie that scripts and other sites cannot use", async () => {
    await using console = await open({ token });
    const session = await call(console.url, "/api/session", {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
    });
    const [cookie = ""] = session.headers["set-cookie"] ?? [];
    expect(session.status).toBe(204);
    expect(cookie).toMatch(/; HttpOnly; SameSite=Strict; Path=\/; /);
    expect(cookie).not.toContain(token);
    const [value = ""] = cookie.split(";");
    expect(
      (await call(console.url, address, { ...message, headers: { cookie: `a=b; ${value}` } })).status,
    ).toBe(200);
  });

  test("answers under any name, as behind a proxy, but still takes nothing from other sites", async () => {
    await using console = await open({ token });
    const host = "heddle.example";
    const own = { authorization: `Bearer ${token}`, host, origin: `https://${host}` };
    expect((await call(console.url, address, { ...message, headers: own })).status).toBe(200);
    expect((await call(console.url, address, { ...message, headers: { host } })).status).toBe(401);
    const foreign = { ...own, origin: "https://evil.example" };
    expect((await call(console.url, address, { ...message, headers: foreign })).status).toBe(403);
  });
});

test("a request that names two hosts is refused, whichever comes first", async () => {
  await using console = await open();
  const { hostname, port } = new URL(console.url);
  for (const hosts of [
    ["127.0.0.1", "evil.example"],
    ["evil.example", "127.0.0.1"],
    ["127.0.0.1", "127.0.0.1"],
  ]) {
    const socket = connect({ host: hostname, port: Number(port) });
    const lines = hosts.map((host) => `Host: ${host}:${port}`).join("\r\n");
    socket.end(`GET /api/status HTTP/1.1\r\n${lines}\r\nConnection: close\r\n\r\n`);
    expect(await readText(socket)).toMatch(/^HTTP\/1\.1 400 /);
  }
});

describe("every answer", () => {
  test("forbids the page whatever it does not need", async () => {
    await using console = await open();
    for (const path of ["/", "/main.js", "/api/status", "/nothing"]) {
      const { headers } = await call(console.url, path);
      expect(headers["content-security-policy"]).toMatch(
        /^default-src 'none'; script-src 'self'; style-src 'self'; /,
      );
      expect(headers["content-security-policy"]).not.toContain("unsafe");
      expect(headers).toMatchObject({
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cross-origin-resource-policy": "same-origin",
      });
    }
  });

  test("comes from the page's own files and from no other file", async () => {
    await using console = await open();
    const outside = [
      "/../adapter.ts",
      "/%2e%2e/adapter.ts",
      "/..%2fadapter.ts",
      "//etc/passwd",
      "/adapter.ts",
      "/index.html/",
    ];
    for (const path of outside) expect((await call(console.url, path)).status).toBe(404);
    expect((await call(console.url, "/", { method: "POST" })).status).toBe(404);
  });
});
