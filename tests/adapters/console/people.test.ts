import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { routes } from "../../../src/adapters/console/api/api.ts";
import type { Role } from "../../../src/chat/roles.ts";
import { type AccessTokens, createAccessTokens } from "../../../src/operations/people/access-tokens.ts";
import { keys } from "../../../src/queue/redis/keys.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";
import { call, openStream } from "./requests.ts";
import { askChoice, write } from "./sessions.ts";
import { startConsole, type TestConsole } from "./start-console.ts";

const own = "correct-horse-battery";
let redis: TestRedis;
let tokens: AccessTokens;
let console: TestConsole;
beforeAll(async () => {
  redis = await startRedis();
  tokens = createAccessTokens(redis.client(), Date.now);
  console = await startConsole({ redis, token: own, recheckMs: 20 });
});
afterAll(async () => {
  await console[Symbol.asyncDispose]();
  await redis.stop();
});

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const make = async (name: string, role: Role) => bearer((await tokens.create({ name, role })).token);
const messages = "/api/threads/abcdefgh12345678/messages";
const signIn = async (token: string) => {
  const session = await call(console.url, "/api/session", { method: "POST", headers: bearer(token) });
  return (session.headers["set-cookie"]?.[0] ?? "").split(";")[0] ?? "";
};
const say = (headers: Record<string, string>, key: string, at: TestConsole = console) =>
  call(at.url, messages, { method: "POST", headers, json: { text: "Hello", key } });
const me = async (headers: Record<string, string>, at: TestConsole = console) => {
  const answer = await call(at.url, "/api/status", { headers });
  return answer.status === 200 ? (answer.json() as { me: unknown }).me : answer.status;
};

describe("people with tokens", () => {
  test("are two authors where two write, and neither is the operator", async () => {
    await say(await make("ada", "member"), "ada-writes");
    await say(await make("bob", "operator"), "bob-writes");
    expect(console.intake.events.slice(-2)).toMatchObject([
      { author: { id: "@ada", name: "ada", standing: "member" } },
      { author: { id: "@bob", name: "bob", standing: "operator" } },
    ]);
    expect(await me(bearer(own))).toMatchObject({ id: "console", role: "operator" });
  });

  test("have a token of which Redis knows neither it nor its cookie", async () => {
    const { token } = await tokens.create({ name: "eve", role: "viewer" });
    const session = await call(console.url, "/api/session", { method: "POST", headers: bearer(token) });
    const [cookie = ""] = (session.headers["set-cookie"]?.[0] ?? "").split(";");
    expect(await me({ cookie })).toMatchObject({ id: "@eve", role: "viewer", may: ["read", "oversee"] });
    const stored = [
      JSON.stringify(await redis.client().hgetall(keys.accessTokens)),
      ...(await redis.client().keys("heddle:signed-in:*")),
    ].join();
    // Base64 of addresses has underscores of its own.
    const [, , ...secret] = token.split("_");
    for (const value of [token, secret.join("_"), cookie.split("=")[1] ?? "?"])
      expect(stored).not.toContain(value);
    expect(cookie).not.toContain(token);
    const forged = cookie.slice(0, -1) + (cookie.endsWith("0") ? "1" : "0");
    expect(await me({ cookie: forged })).toBe(401);
  });

  test("who hold all live streams give way to others, down to as many as those have", async () => {
    const viewer = await make("many-tabs", "viewer");
    const openPage = (headers: Record<string, string>) => openStream(console.url, "/api/events", headers);
    const theirs = await Promise.all(Array.from({ length: 64 }, () => openPage(viewer)));
    const ended = theirs.map((page) =>
      page.next("never").then(
        () => "sent",
        () => "ended",
      ),
    );
    const ours: Awaited<ReturnType<typeof openPage>>[] = [];
    for (let count = 0; count < 33; count += 1) ours.push(await openPage(bearer(own)));
    // They are even at 32: what was cut and comes back cuts nobody, and neither do more of the others.
    expect(ours.map(({ status }) => status)).toEqual([...Array.from({ length: 32 }, () => 200), 503]);
    expect(await openPage(viewer)).toMatchObject({ status: 503 });
    expect(await Promise.race(ended)).toBe("ended");
    expect(await openPage(await make("late", "member"))).toMatchObject({ status: 200 });
    for (const page of [...theirs, ...ours]) page[Symbol.dispose]();
  });

  test("sign one browser out, and no other: its cookie opens nothing any more, open streams included", async () => {
    const { token } = await tokens.create({ name: "eve", role: "member" });
    const [here, there] = [await signIn(token), await signIn(token)];
    using page = await openStream(console.url, "/api/events", { cookie: here });
    await page.next("threads");
    expect(await me({ cookie: here })).toMatchObject({ byCookie: true });
    const ended = await call(console.url, "/api/v1/session/end", {
      method: "POST",
      headers: { cookie: here },
    });
    expect([ended.status, ended.headers["set-cookie"]?.[0]]).toEqual([
      204,
      expect.stringMatching(/^heddle_console=; .*Max-Age=0/),
    ]);
    expect(await me({ cookie: here })).toBe(401);
    await expect(page.next("never")).rejects.toThrow(/ended|aborted/);
    expect(await me({ cookie: there })).toMatchObject({ id: "@eve" });
    expect(await me(bearer(token))).toMatchObject({ byCookie: false });
  });

  test("are signed out with their token, whichever browsers they use", async () => {
    const { token, id } = await tokens.create({ name: "eve", role: "member" });
    const cookie = await signIn(token);
    await tokens.revoke(id);
    expect(await me({ cookie })).toBe(401);
  });

  test("get no cookie for less than a token, so that no cookie is more than it was", async () => {
    const { token } = await tokens.create({ name: "eve", role: "viewer" });
    const cookie = await signIn(token);
    const again = await call(console.url, "/api/session", { method: "POST", headers: { cookie } });
    expect([again.status, again.headers["set-cookie"]]).toEqual([400, undefined]);
  });

  test("read metrics as far as they may see the system", async () => {
    const metrics = async (role: "operator" | "viewer" | "member") =>
      (await call(console.url, "/metrics", { headers: await make("eve", role) })).status;
    expect([await metrics("operator"), await metrics("viewer"), await metrics("member")]).toEqual([
      200, 200, 403,
    ]);
  });

  test("are out at once when their token is revoked, open streams included, and when it has ended", async () => {
    const { token, id } = await tokens.create({ name: "ada", role: "member" });
    using page = await openStream(console.url, "/api/events", bearer(token));
    await page.next("threads");
    expect(await tokens.revoke(id)).toMatchObject({ id, name: "ada" });
    expect(await me(bearer(token))).toBe(401);
    await expect(page.next("never")).rejects.toThrow(/ended|aborted/);
    const late = await tokens.create({ name: "ada", role: "member", expiresAt: Date.now() - 1 });
    expect(await me(bearer(late.token))).toBe(401);
    expect((await tokens.list()).map((one) => one.id)).toContain(late.id);
  });

  test("also where nobody needs a token, and a wrong one is no way in as the operator", async () => {
    await using open = await startConsole({ redis });
    expect(await me({}, open)).toMatchObject({ id: "console", role: "operator" });
    expect(await me(await make("ada", "member"), open)).toMatchObject({ id: "@ada" });
    const whole = `heddle_00000000_${"x".repeat(43)}`;
    for (const wrong of [whole, whole.slice(0, -1), "heddle_"])
      expect(await me(bearer(wrong), open)).toBe(401);
    const { body } = await call(open.url, "/api/v1/status", { headers: bearer(whole) });
    expect(body).toContain(
      "This token is wrong, revoked or expired: `heddle tokens create` makes another one.",
    );
  });
});

describe("a viewer", () => {
  const changes = routes.filter(
    ({ method, path }) => method === "POST" && !/\/session(?:\/end)?$/.test(path),
  );

  test.each(changes)("is refused POST $path", async ({ path }) => {
    const before = console.intake.events.length;
    const address = path
      .replace("sessions/:thread", "sessions/local:console:main:abcdefgh1")
      .replaceAll(/:\w+/g, "abcdefgh1");
    const headers = await make("vera", "viewer");
    const answer = await call(console.url, address, { method: "POST", headers, json: {} });
    expect([answer.status, answer.json()]).toEqual([
      403,
      { error: expect.stringContaining("Your role here is viewer") },
    ]);
    expect(console.intake.events).toHaveLength(before);
  });
});

describe("a member", () => {
  test("works in the console's threads, and neither in others nor as an operator", async () => {
    const headers = await make("ada", "member");
    const post = async (path: string, json: object = {}) =>
      (await call(console.url, path, { method: "POST", headers, json })).status;
    const [there, here] = ["slack:T1:C1:1.5", "local:console:main:abcdefgh0000"];
    for (const thread of [there, here]) await write(redis.client(), thread, "Paint");
    expect(await post(`/api/sessions/${there}/stop`)).toBe(403);
    expect(await post(`/api/sessions/${here}/stop`)).toBe(200);
    expect(await post(`/api/sessions/${here}/delete`)).toBe(403);
    for (const path of ["/api/audit", "/api/system"])
      expect((await call(console.url, path, { headers })).status).toBe(403);
  });

  test("answers what they were asked, and nobody else does", async () => {
    const thread = "local:console:main:abcdefgh1111";
    const { id } = await askChoice(redis.client(), thread, "@ada", ["Red", "Blue"]);
    const answer = async (headers: Record<string, string>) => {
      const json = { decision: "answer", choice: 1 };
      return (
        await call(console.url, `/api/sessions/${thread}/questions/${id}`, { method: "POST", headers, json })
      ).status;
    };
    expect(await answer(await make("bob", "operator"))).toBe(409);
    expect(await answer(await make("ada", "member"))).toBe(200);
    expect(console.intake.events.at(-1)).toMatchObject({ action: `answer:${id}:1`, author: { id: "@ada" } });
  });
});

describe("a named proxy that says who somebody is", () => {
  const identity = { name: "X-Forwarded-User", people: { ada: "operator", "*": "viewer" } as const };
  const as = (user: string) => ({ "x-forwarded-user": user });

  test("is believed, and gives each person the role of the settings", async () => {
    await using at = await startConsole({ redis, token: own, proxies: ["127.0.0.1"], identity });
    expect(await me(as("ada"), at)).toMatchObject({ id: "@ada", role: "operator" });
    expect(await me(as("bob"), at)).toMatchObject({ id: "@bob", role: "viewer" });
    expect(await me(as("ada, bob"), at)).toBe(403);
    expect(await me({}, at)).toBe(401);
    expect(await me(as("__proto__"), at)).toMatchObject({ id: "@__proto__", role: "viewer" });
  });

  test("makes nobody the operator where it names nobody, and strangers nothing", async () => {
    const people = { ada: "operator" } as const;
    await using at = await startConsole({
      redis,
      proxies: ["127.0.0.1"],
      identity: { name: identity.name, people },
    });
    expect(await me({}, at)).toBe(401);
    expect(await me(as("bob"), at)).toBe(403);
    const host = "console.example";
    expect(await me({ ...as("ada"), host, origin: `https://${host}` }, at)).toMatchObject({ id: "@ada" });
    expect(await me({ ...as("ada"), host, origin: "https://evil.example" }, at)).toBe(403);
  });

  test("is nobody else: the header of any other address is not looked at", async () => {
    await using at = await startConsole({ redis, token: own, proxies: ["10.0.0.1"], identity });
    expect(await me(as("ada"), at)).toBe(401);
    expect(await me({ ...as("ada"), ...bearer(own) }, at)).toMatchObject({ id: "console" });
  });
});
