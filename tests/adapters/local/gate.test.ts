import { describe, expect, test } from "vitest";
import { call } from "./requests.ts";
import { startConsole } from "./start-console.ts";

const token = "correct-horse-battery";
const message = { method: "POST", json: { text: "hello", key: "first-key" } };
const address = "/api/threads/abcdefgh12345678/messages";

test("a console whose port is taken says what to do", async () => {
  await using console = await startConsole();
  const { redis, url } = console;
  await expect(startConsole({ redis, port: Number(new URL(url).port) })).rejects.toThrow(
    /cannot listen on 127\.0\.0\.1:\d+, because another program does, .*set HEDDLE_PORT to a free port\.$/,
  );
});

describe("a console without a token", () => {
  test("answers under the names of this machine only, so that a rebound name gets nowhere", async () => {
    await using console = await startConsole();
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
      "]",
    ]) {
      expect((await call(console.url, "/api/status", { headers: { host } })).status).toBe(421);
      expect((await call(console.url, "/", { headers: { host } })).status).toBe(421);
    }
  });

  test("takes nothing from the pages of other sites", async () => {
    await using console = await startConsole();
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
    expect(console.door.events).toEqual([]);

    const own = { origin: console.url, "sec-fetch-site": "same-origin" };
    expect((await call(console.url, address, { ...message, headers: own })).status).toBe(200);
  });

  test.each(["0.0.0.0", "::", "192.0.2.7"])("does not start on %s", async (host) => {
    await expect(startConsole({ host })).rejects.toThrow(/HEDDLE_CONSOLE_TOKEN/);
  });
});

describe("a console with a token", () => {
  test("does not start with one that can be guessed", async () => {
    await expect(startConsole({ token: "hunter2" })).rejects.toThrow(/at least 16 characters/);
  });

  test("shows its page to everybody and everything else to nobody without the token", async () => {
    await using console = await startConsole({ host: "0.0.0.0", token });
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
    expect(console.door.events).toEqual([]);
  });

  test("trades the token for a cookie that scripts and other sites cannot use", async () => {
    await using console = await startConsole({ token });
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
    await using console = await startConsole({ token });
    const host = "heddle.example";
    const own = { authorization: `Bearer ${token}`, host, origin: `https://${host}` };
    expect((await call(console.url, address, { ...message, headers: own })).status).toBe(200);
    expect((await call(console.url, address, { ...message, headers: { host } })).status).toBe(401);
    const foreign = { ...own, origin: "https://evil.example" };
    expect((await call(console.url, address, { ...message, headers: foreign })).status).toBe(403);
  });
});

describe("every answer", () => {
  test("forbids the page whatever it does not need", async () => {
    await using console = await startConsole();
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
    await using console = await startConsole();
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

test("a port that is taken is named in the error", async () => {
  await using console = await startConsole();
  const { port } = new URL(console.url);
  await expect(startConsole({ redis: console.redis, port: Number(port) })).rejects.toThrow(
    `127.0.0.1:${port}`,
  );
});
